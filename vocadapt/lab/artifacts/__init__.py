"""Artifacts: the contents of the folders of a workspace, one module per kind.

Read `corpora` and `open_space` first; then `saved_results` (facts and tensors of a step),
`projection_files`, `alignments` (their held-out scores), `tasks` (also imported predictions) and
`runs` (also the training data of a run); `published_scores` (runs beside published tables).
"""
