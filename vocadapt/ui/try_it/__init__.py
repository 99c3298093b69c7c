"""Page Try it: `view` (a typed text), `file` (a file of texts)."""
