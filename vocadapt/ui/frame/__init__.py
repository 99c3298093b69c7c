"""What surrounds every page.

Read in this order: `frame` (the workspace, running jobs, errors), `address` (the workspace of the
visitor, and the selections in the URL), `mistakes` (errors as messages), `names` (models and spaces
by typed name), `cache` (cached readers; `count_cache` continues it).
"""
