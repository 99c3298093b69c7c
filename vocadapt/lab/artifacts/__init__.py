"""Artifacts: what the folders of a workspace hold, one module per kind.

Read `corpora` and `open_space` first; then `projection_files`, `tasks`
(with imported predictions) and `runs` (with what a run was trained on).
"""
