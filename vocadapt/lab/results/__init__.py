"""Results of steps, read for pages and commands: `runs` (fine-tuned models, and the data they were
trained on), `leaderboards` (of runs, a task each), `published_scores` (runs beside published
tables), `projection_files`.
"""
