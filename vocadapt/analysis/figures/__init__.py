"""Plotly figures; they draw given values and compute nothing.

Read `figures` first: colors, layout and the figures of most pages. The others are named after their
page: `projection`, `diagnostics`, `extension`, `pretraining`, `results`.
"""
