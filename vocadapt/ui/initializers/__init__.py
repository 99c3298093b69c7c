"""Page Initializers: `view` (a transfer, token by token), `leaderboard` (all initializers compared)."""
