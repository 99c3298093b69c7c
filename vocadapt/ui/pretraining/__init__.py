"""Page Pretraining: `view` (the form), `live` (a running job), `result`, `gates` (of an exBERT)."""
