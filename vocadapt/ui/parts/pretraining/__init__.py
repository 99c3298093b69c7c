"""Part Pretraining.

Read in this order: `page` (the form), `result` (a running job, pretrained models, exBERT gates).
"""
