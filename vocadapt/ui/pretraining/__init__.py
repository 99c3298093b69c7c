"""Page Pretraining: `view` (the form), `result` (a running job, pretrained models, exBERT gates)."""
