"""Part Neighborhood change.

Read in this order: `page` (the order of its blocks), `view`, and the picker and jobs of its
`noise_baseline`.
"""
