"""Page Try it: `view`."""
