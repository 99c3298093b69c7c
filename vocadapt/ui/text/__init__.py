"""Part Text: `page` (the order of its blocks), `view` (the form that imports a text)."""
