"""Vocabulary packs: the added tokens of an adapted model in one small file, bound to its base
model.

Read in this order: `pack` (the file), `make` (from an adapted model), `apply` (apply a pack to its
base model, and remove it again).
"""
