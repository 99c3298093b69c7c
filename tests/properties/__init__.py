"""Properties that hold for every input, tried on examples that hypothesis generates."""
