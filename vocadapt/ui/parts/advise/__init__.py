"""Part Advice: `page`, `recommendation` (words and alignment, also shown by Adapt)."""
