"""Page Projection.

Read in this order: `controls` (what is selected, and the form of a job), `sources` (spaces, saved
projections, colors), `view` (the main part), `chart` (the figure, its marks, and the tokens
selected by lasso), `table` (the selected tokens, and exports).
"""
