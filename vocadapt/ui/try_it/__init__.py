"""Part Try it: `page` (the order of its blocks), `view`."""
