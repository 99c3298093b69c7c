"""Part Diagnostics.

Read in this order: `page`, `relations` (lexical relations), `cached` (its cached figures).
"""
