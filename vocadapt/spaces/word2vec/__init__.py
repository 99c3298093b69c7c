"""Training of word vectors: `trainer` (word2vec by gensim), `resampling` (bootstrap of the text)."""
