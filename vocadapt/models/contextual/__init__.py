"""Contextual vectors of words, and masked-token loss.

Read in this order: `occurrences` (which occurrences of words are used), `word_vectors` (averaged
vectors), `masked_loss` (loss of masked words, computed only at masked positions).
"""
