"""Reproducing published tables with the user's data and models: published, ours, difference.

Read `materials` (data, models and vectors that the user has) first; then `measures` (the cells that
are computed without training), `trainings` (the cells that a study trains), `plan` (which cells of
each table can be computed), `reproduce` (plan, run, compare), and `imports` (values for empty
cells).

A missing model, text or task is never downloaded: its cells say what is missing, and a score of
another model or another version of the data is shown, but not compared.
"""
