"""Part Model.

Read in this order: `page` (the order of its blocks), `plan` (recipe form and plan), `model` (an
adapted model).
"""
