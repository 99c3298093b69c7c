"""Tables that tokenize all distinct pre-tokens of a text together after tokens were removed:
exactly, and in milliseconds.

WordPiece: `prefix_trees` and `longest_match`. BPE: `merge_rounds` and `merge_table`, and
`leaf_pruning`, the order in which its tokens can be removed. Unigram: `best_segmentations` and
`segmentation_table`.
"""
