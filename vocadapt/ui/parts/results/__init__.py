"""Part Results.

Read in this order: `page` (the order of its blocks), `view` (leaderboard), `confusion`
(confusion matrix), `compared_settings`.
"""
