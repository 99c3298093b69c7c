"""Part Initializers.

Read in this order: `page` (the order of its blocks), `view` (a transfer, token by token),
`leaderboard` (all initializers compared).
"""
