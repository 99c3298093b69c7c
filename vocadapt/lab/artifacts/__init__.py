"""Artifacts: what the folders of a workspace hold, one module per kind.

Read `corpora` and `open_space` first; then `alignments`, `projection_files`, `benchmarks`,
`imported_predictions`, `runs`, and `run_sources` (what a run was trained on).
"""
