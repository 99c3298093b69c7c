"""Page Projection.

Read in this order: `controls` (what is selected), `sources` (spaces and saved projections), `view`
(the main part), `chart` and `colors` (the figure), `marks` (what is drawn over it), `selection`
and `table` (tokens selected by lasso), `form` (start of a job), `export`.
"""
