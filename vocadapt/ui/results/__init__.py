"""Page Results: `view` (leaderboard and curves), `confusion` (confusion matrix)."""
