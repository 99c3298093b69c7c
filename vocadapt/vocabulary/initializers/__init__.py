"""Initializers: embeddings of new tokens.

Read in this order: `materials` (inputs, results, settings, registry), `initialize` (the entry
point), `simple`, `mixing` and `transfer` (weighted sums of old embeddings), `sparse` (matching
pursuit), `distilled` (training on a text) with its `settings`.
"""
