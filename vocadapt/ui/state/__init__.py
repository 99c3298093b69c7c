"""What a page knows before it draws: who visits, which workspace and selections are open, and what
was read.

Read in this order: `pages` (all pages and their parts), `names` (models and spaces by typed name),
`address` (the visitor's workspace, and the selections in the URL), `paths` (which paths a visitor
may open), `visitors` (a workspace for each visitor), `accounts` (sign-out, and failed sign-ins),
`guard` (protection against other sites), `cache` and `count_cache` (cached readers), `preload`
(reads ahead).
"""
