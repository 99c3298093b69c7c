"""Page Adapt: `plan` (recipe form and plan), `model` (an adapted model)."""
