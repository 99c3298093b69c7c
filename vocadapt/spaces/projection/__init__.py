"""Projections: 2-D pictures of a space by PCA, t-SNE or UMAP.

Read in this order: `token_choice` (which tokens to show), `methods` (their settings, their
algorithms and their registry), `projection` (one space, or two aligned ones), `quality`
(trustworthiness), `regions` (named clusters), `layout_file` (a layout of another
program).
"""
