"""Part Model, which is called `adapt` in the address.

Read in this order: `page` (the order of its blocks), `form` (recipe and inputs), `plan`, `model`
(an adapted model).
"""
