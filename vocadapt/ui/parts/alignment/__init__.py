"""Part Alignment.

Read in this order: `page` (the order of its blocks), `view` (neighbor lists, evaluation), `methods`
(saved evaluations by method), `accuracy` (how often an alignment is right).
"""
