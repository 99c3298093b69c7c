"""Part Jobs.

Read in this order: `page` (the order of its blocks), `view` (the list), `overview` and `results`
(names and times of jobs, and what they made), `panel` (the job of a page,
and the strip in the header), `guards` (warnings beside Start).
"""
