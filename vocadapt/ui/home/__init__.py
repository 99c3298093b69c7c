"""Page Home: `start` (an empty workspace), `main_steps` (status of the main steps)."""
