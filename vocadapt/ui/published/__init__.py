"""Part Published results.

Read in this order: `page` (the order of its blocks), `view` (a table with its source, traps and
empty cells), `ours` (our scores beside it, and why they are not comparable), `values` (a file that
fills empty cells).
"""
