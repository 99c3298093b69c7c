"""Part Vectors.

Read in this order: `page` (selected vectors, forms of import and training), `contextual` (its
form).
"""
