"""Page Neighborhood change: `view`, and the picker and jobs of its `noise_baseline`."""
