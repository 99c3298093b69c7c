"""Part Studies.

Read in this order: `page` (the order of its blocks), `opened` (a study with its grid, cached),
`cells` (draws the grid, and handles clicks), `view` (estimate, start, failures, table), `form`
(defines a study).
"""
