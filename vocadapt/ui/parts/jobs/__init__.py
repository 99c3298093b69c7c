"""Part Jobs: `page` (the list, and a form for steps without a part)."""
