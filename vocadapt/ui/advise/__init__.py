"""Page Advise: `view`."""
