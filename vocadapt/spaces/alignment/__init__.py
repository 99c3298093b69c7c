"""Alignments: maps from word vectors to a model's embedding space, fitted on shared words.

Read in this order: `anchors` (the shared words), `solvers` (the linear algebra), `methods` (the
registry of methods and their settings), `alignment` (fit, apply, save), `cross_validation` (quality
on held-out anchors), `comparison` (all methods on the same folds).
"""
