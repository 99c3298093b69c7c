"""Part Neighborhood change, in reading order: `page` (its blocks: figures and details),
`comparisons` (finished, computed now, or by a job; its noise baseline), `word_list` (histogram,
ranked list, frequency), `neighbors` (of one word).
"""
