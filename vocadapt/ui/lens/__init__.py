"""Page Tokenizer lens: `view` (a typed text), `corpus` (a whole text of the workspace)."""
