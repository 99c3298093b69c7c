"""Part Pretraining.

Read in this order: `page` (the order of its blocks), `view` (the form), `result` (a running job,
pretrained models, exBERT gates).
"""
