"""Training of word vectors: `trainer` (word2vec by gensim, also on bootstrap resamples of a text)."""
