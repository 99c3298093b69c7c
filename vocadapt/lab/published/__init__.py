"""Reproducing published tables with what the user's machine has: published, ours, difference.

Read `materials` (data, models and vectors that the user has) first; then `measures` (the cells that
are computed without training), `trainings` (the cells that a study trains), `plan` (what each table
can do here), `reproduce` (plan, run, compare), and `imports` (values that fill empty cells).

A missing model, text or task is never downloaded: its cells say what is missing, and a score of
another model or another version of the data is shown, but not compared.
"""
