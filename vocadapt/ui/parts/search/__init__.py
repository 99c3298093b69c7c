"""Part Search.

Read in this order: `page` (the order of its blocks), `view` (trials, best settings, figures,
seeds), `form` (a new search, or a new comparison of seeds).
"""
