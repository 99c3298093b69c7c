"""Part Results.

Read in this order: `page` (the order of its blocks), `view` (leaderboard and curves), `confusion`
(confusion matrix).
"""
