"""Part Jobs: `page` (the order of its blocks), `view` (the list, and a form for steps without a part)."""
