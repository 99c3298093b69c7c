"""Part Published results.

Read in this order: `page` (the order of its blocks), `view` (a table with its source, notes and
empty cells), `figures` (the figures of its publication), `ours` (scores of our runs, and why they
are not comparable), `compute_form` (computes its cells here), `values` (fills empty cells from a
file).
"""
