"""A Ray cluster: `ray_cluster` connects to it, and `ray_counts` counts the words of a large text on
it.
"""
