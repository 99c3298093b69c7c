"""Part Results.

Read in this order: `page` (the order of its blocks), `view` (leaderboard), `curves`, `confusion`
(confusion matrix), `compared_settings`.
"""
