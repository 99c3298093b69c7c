"""Results of steps, read for pages and commands: `runs` (fine-tuned models, and the data they were trained
on), `published_scores` (runs beside published tables), `projection_files`.
"""
