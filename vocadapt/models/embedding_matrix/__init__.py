"""The embedding matrix of a model: its name among the stored tensors, its number of rows, and how a
vocabulary plan changes it.

Read in this order: `stored` (find and read the stored matrix), `padding` (a matrix may have more
rows than there are tokens), `token_tensors` (all tensors of a network with one entry for each
token), `change` (apply a plan to them).
"""
