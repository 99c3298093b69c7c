"""Part Results.

Read in this order: `page` (leaderboard), `confusion` (confusion matrix), `compared_settings`.
"""
