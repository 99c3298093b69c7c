"""Advice on whether to adapt a vocabulary, from word counts alone.

Read in this order: `rules` (the thresholds and their reasons), `forecast` (expected quality of the
alignment), `advice` (the entry point).
"""
