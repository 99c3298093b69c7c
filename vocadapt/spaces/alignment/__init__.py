"""Alignments: maps from word vectors to a model's embedding space, fitted on shared words.

Read in this order: `anchors` (the shared words), `methods` (the registry of methods, their settings
and the linear algebra), `alignment` (fit, apply, save), `cross_validation` (quality on held-out
anchors, and all methods compared on the same folds), `frequency_bands` (quality for frequent, middle and rare
words).
"""
