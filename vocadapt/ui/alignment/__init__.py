"""Page Alignment: `view` (neighbor lists, evaluation), `methods` (saved evaluations by method)."""
