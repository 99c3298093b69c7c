"""Embedding spaces: words with one vector each, and what is computed on them.

Read in this order: `space` (the data class that all functions take or return, and the kinds of its
tokens), `word2vec` (training of word vectors; `orthonormal` has its linear algebra), `neighbors`
(search, neighbor lists, neighborhood change), `alignment` (linear and kernel maps between two
spaces), `projection` (2-D pictures), `diagnostics` (geometry and evaluation of one space), `io`
(files; `storage` saves and loads our own format).
"""
