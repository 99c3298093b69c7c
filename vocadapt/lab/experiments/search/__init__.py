"""Hyperparameter search: the settings of fine-tuning with the best dev score, averaged over seeds.

Read in this order: `space` (the settings to search, from a file or Fast 2023, and their checks),
`trials` (the cells of a trial, and their dev scores), `search` (Optuna proposes settings, cells of
a study compute their scores), `estimates` (how long a search takes), `step` (what a job runs),
`results` (what it answers), `tables` (of trials and seeds) and `saved` (the searches of a
workspace).
"""
