"""Part Error analysis.

Read in this order: `page` (the order of its blocks), `comparable` (the two sides), `view`, `notes`
(single examples, exports).
"""
