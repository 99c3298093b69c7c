"""Part Alignment.

Read in this order: `page` (its blocks: neighbor lists, evaluation), `methods` (saved evaluations by
method), `accuracy` (how often an alignment is right).
"""
