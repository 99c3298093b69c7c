"""Vocabulary packs: the added tokens of an adapted model in one small file, bound to its base model.

Read in this order: `pack` (the file), `make` (from an adapted model), `apply` (apply and remove
packs), `base` (the base of a model with packs, and how it is restored), `packed_record` (the record
of a model with packs), `token_rows` (which stored tensors get which rows), `tokenizer_patch` (the
difference between two tokenizers), `stored_weights` (safetensors files byte by byte).
"""
