"""Part Advice: `page` (the order of its blocks), `view`."""
