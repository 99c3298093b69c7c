"""Training of word vectors.

Read in this order: `trainer` (the registry of trainers, resampling, estimates), `settings`,
`gensim_trainer`, `block_trainer` (a faster trainer), `block_plan` (its sizes), `block_kernel` (its
arithmetic, compiled by numba), `block_gpu` (the same by torch), `slices` (threads, progress).
"""
