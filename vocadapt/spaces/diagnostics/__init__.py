"""Diagnostics of one space: its geometry, word similarity, analogies and lexical relations.

Read in this order: `statistics` (mean cosines, rank correlation), `geometry` (isotropy, hubness,
norms), `diagnosis` (these figures of a space and what they show), `word_lists` (files of judged
pairs, analogies and relations), `evaluation` (scores of judged pairs and analogies), `relations`
(scores of lexical relations).
"""
