"""Part Studies.

Read in this order: `page` (the order of its blocks), `opened` (a study with its grid, cached),
`cells` (the grid and its clicks), `view` (estimate, start, failures, table), `form` (a new study).
"""
