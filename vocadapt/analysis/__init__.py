"""Analysis of results: computes tables and draws figures; never writes into a workspace.

Read in this order: `comparison` (the one comparison of two models), `errors` (two sets of
predictions compared unit by unit), `results` (runs of a task ranked and tested), `leaderboard`
(initializers compared before any training), `gates` (the gates of an exBERT), `token_columns`
(values to color a projection by), `figures` (plotly figures of all of these).
"""
