"""The embedding matrix of a model: `stored` (find and read it among the stored tensors), `padding`
(it may have more rows than there are tokens).
"""
