"""The frame of every page.

Read in this order: `pages` (all pages and their parts), `frame` (workspace, running jobs, errors),
`address` (the visitor's workspace, and the selections in the URL), `mistakes` (errors as messages),
`names` (models and spaces by typed name), `cache` and `count_cache` (cached readers).
"""
