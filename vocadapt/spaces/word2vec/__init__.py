"""Training of word vectors.

Read in this order: `trainer` (the registry of trainers, resampling, estimates), `settings`,
`gensim_trainer`, `block_trainer` and `block_kernel` (a faster trainer, compiled by numba), `slices`
(threads, progress).
"""
