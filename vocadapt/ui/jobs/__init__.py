"""Part Jobs.

Read in this order: `page` (the order of its blocks), `view` (the list), `panel` (the job of a page,
and the strip in the header).
"""
