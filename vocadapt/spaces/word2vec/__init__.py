"""Training of word vectors.

Read in this order: `trainer` (the registry of trainers, which of them fits a text, resampling,
estimates), `settings`, `counted_trainer` (counts and their factorization, for small texts),
`gensim_trainer`, `block_trainer` (a faster trainer), `block_plan` (its sizes), `block_kernel` (its
arithmetic, compiled by numba), `slices` (threads, progress).
"""
