"""What surrounds every page.

Read in this order: `frame` (the workspace, running jobs, errors) and `session` (the workspace of
the visitor), `mistakes` (errors as messages), `address` (selections in the URL), `names` (models
and spaces by typed name), `cache` (cached readers; `count_cache` and `run_cache` continue it).
"""
