"""The frame of every page.

Read in this order: `frame` (workspace, running jobs, errors), `address` (the visitor's workspace,
and the selections in the URL), `mistakes` (errors as messages), `names` (models and spaces by typed
name), `cache` and `count_cache` (cached readers).
"""
