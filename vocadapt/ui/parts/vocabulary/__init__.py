"""Part Vocabulary size.

Read in this order: `page` (reduction), `profiles` (comparison of vocabularies).
"""
