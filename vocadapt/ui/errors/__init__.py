"""Page Error analysis: `comparable` (the two sides), `view`, `notes` (single examples, exports)."""
