"""Page Word vectors: `view` (selected vectors), `forms` (import and training), `contextual` (its
form).
"""
