"""Part Projection.

Read in this order: `page` (its blocks), `controls` (what is selected, and the form of a job),
`sources` (spaces, saved projections, colors), `chart` (the figure, its marks, and the tokens
selected by lasso), `table` (the selected tokens, alone too, and exports).
"""
