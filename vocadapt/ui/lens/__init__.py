"""Part Lens.

Read in this order: `page` (the order of its blocks), `view` (a typed text), `corpus` (a whole text
of the workspace).
"""
