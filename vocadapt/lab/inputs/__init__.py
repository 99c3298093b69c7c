"""What steps read: `corpora` (texts and their word counts), `open_space` (a model's embeddings or
word vectors), `tasks` (also imported predictions), `alignments` (their held-out scores); `opened`
opens all inputs of a step.
"""
