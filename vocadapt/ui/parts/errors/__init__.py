"""Part Error analysis.

Read in this order: `page` (the order of its blocks), `comparable` (the two sides), `filters`
(what limits the list), `view`, `notes`
(single examples, exports).
"""
