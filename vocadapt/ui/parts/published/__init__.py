"""Part Published results.

Read in this order: `page` (the order of its blocks, the import of values), `view` (a table with its
source, notes, empty cells and scores of our runs), `figures` (the figures of its publication),
`compute_form` (computes its cells here).
"""
