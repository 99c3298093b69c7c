"""Vocabulary packs: the added tokens of an adapted model in one small file, bound to its base model.

Read in this order: `pack` (the file), `make` (from an adapted model), `apply` (apply and remove
packs), `base` (keep and restore the base of a model with packs), `packed_record` (the record of a
model with packs), `token_rows` (the rows of packs for each stored tensor), `tokenizer_patch` (the
difference between two tokenizers), `stored_weights` (safetensors files byte by byte).
"""
