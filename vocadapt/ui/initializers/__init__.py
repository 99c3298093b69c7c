"""Page Initializers: `view` (a transfer, token by token), `own_settings` (settings of single
initializers), `leaderboard` (all initializers compared).
"""
