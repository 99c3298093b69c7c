"""Part Diagnostics.

Read in this order: `page` (the order of its blocks), `view`, `relations` (lexical relations),
`cached` (its cached figures).
"""
