"""Leaderboard of initializers, before any training.

Read in this order: `leaderboard` (what is measured, and the table), `judges` (hidden tokens and
neighborhoods that embeddings are compared with), `inputs` (the plan, the materials and the held-out
loss of a model and a target).
"""
