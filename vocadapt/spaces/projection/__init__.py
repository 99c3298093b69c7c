"""Projections: 2-D pictures of a space by PCA, t-SNE or UMAP.

Read in this order: `token_choice` (which tokens to show), `settings`, `methods` (and their
registry), `tsne`, `umap_method` and `exact_neighbors` (the algorithms), `projection` (one space, or
two aligned ones), `quality` (trustworthiness), `regions` (named clusters).
"""
