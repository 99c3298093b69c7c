"""Part Vocabulary size.

Read in this order: `page` (the order of its blocks), `view` (reduction), `profiles` (comparison of
vocabularies).
"""
