"""Page Home: `start` (an empty workspace), `walk` (status of the main steps)."""
