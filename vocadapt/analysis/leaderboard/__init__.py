"""Leaderboard of initializers, before any training; that of the runs of a task is in `results`.

Read in this order: `leaderboard` (the scores and the table), `judges` (the hidden tokens and
neighbors that embeddings are compared with), `replacement` (how a network reads them in sentences),
`inputs` (plan, materials and held-out loss of a model and a target).
"""
