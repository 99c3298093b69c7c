"""Diagnostics of one space: its geometry, word similarity, analogies and lexical relations.

Read in this order: `correlation`, `mean_cosines`, `geometry` (isotropy, hubness, norms),
`word_pairs` and `evaluation` (judged pairs and analogies), `relations` and `relation_lists`.
"""
