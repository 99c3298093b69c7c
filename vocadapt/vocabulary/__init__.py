"""Vocabularies: read them, decide what to change, and initialize the embeddings of new tokens.

Read in this order: `families` (first only its `vocabulary`: the tokens of a model, how they are
spelled and how they tokenize a word), `plan` (which tokens are removed and added), `initializers`
(embeddings of new tokens), `growth` (effect on the length of a text), `advice` (whether a change is
worth it), then `overlap` and `lens` (comparisons of vocabularies).
"""
