"""Page Word vectors: `view` (selected vectors, forms of import and training), `contextual` (its form)."""
