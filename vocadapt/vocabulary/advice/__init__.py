"""Advice on whether to adapt a vocabulary, from word counts alone.

Read in this order: `rules` (the thresholds, their reasons, and the forecast of the precision of
new embeddings), `measured_gains` (on tasks), `advice` (the entry point).
"""
