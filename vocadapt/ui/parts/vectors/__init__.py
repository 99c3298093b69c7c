"""Part Vectors.

Read in this order: `page` (the order of its blocks), `view` (selected vectors, forms of import and
training), `contextual` (its form).
"""
