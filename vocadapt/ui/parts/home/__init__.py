"""Part Home: `page` (the order of its blocks), `view`."""
