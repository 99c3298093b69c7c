"""Part Published results.

Read in this order: `page` (the order of its blocks), `view` (a table with its source, traps and
empty cells), `figures` (what its publication draws of it), `ours` (scores of our runs beside it, and
why they are not comparable), `computing` (the form that computes its cells here), `values` (a file
that fills empty cells).
"""
