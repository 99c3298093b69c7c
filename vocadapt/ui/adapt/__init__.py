"""Page Adapt: `plan` (recipe and plan), `model` (the adapted model), `extension` (exBERT)."""
