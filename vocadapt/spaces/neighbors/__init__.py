"""Nearest neighbors within a space, and before and after a change.

Read in this order: `search` (exact search: cosine, Euclidean distance, CSLS), `csls` (lists by CSLS
without the hubness of every candidate), `formulas` (neighbors of king - man + woman), `change`
(neighborhood overlap of two spaces), `noise_baseline` (the overlap of two spaces that differ only
by chance), `change_report` (a change as tables, and what it shows).
"""
