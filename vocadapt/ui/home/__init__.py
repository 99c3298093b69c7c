"""Page Home: `view`."""
