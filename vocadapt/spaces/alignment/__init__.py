"""Alignments: maps from word vectors to a model's embedding space, fitted on shared words.

Read in this order: `anchors` (the shared words), `methods` (the registry of methods and their
settings), `alignment` (fit, apply, save), `cross_validation` (quality on held-out anchors, and all
methods compared on the same folds), `evaluation` (the scores, their table and findings), `choose`
(the best fast method), `frequency_bands` (quality for frequent, middle and rare words),
`display_name`, `cross_space` (the four neighbor lists of a word, within and across two spaces). The
algorithms: `least_squares`, `kernel_ridge`, `rcsls`, `mlp`, `self_learning`; and `vector_length`
(the norm of a mapped vector from the frequency of its word).
"""
