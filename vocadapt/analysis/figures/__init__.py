"""Plotly figures; they draw given values and compute nothing.

Read `figures` first: colors, layout and the figures of most pages. `training` draws losses, scores
and gates, `search` trials of a search, `published` the figures of the papers; `projection` and
`diagnostics` are named after their page.
"""
