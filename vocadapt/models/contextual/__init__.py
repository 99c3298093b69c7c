"""What a model computes for words in a text: contextual vectors and masked-token loss.

Read in this order: `occurrences` (which occurrences are read), `word_vectors` (averaged vectors),
`masked_loss` (and the last layer at masked positions only).
"""
