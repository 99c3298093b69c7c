"""Reports: answers computed from models and artifacts, the same for page and command line.

They do not depend on each other: `advice`, `diagnostics`, `evaluation` (scoring runs again),
`ledgers` (error analysis), `growth_curves`, `pretraining` (and gates), `word_lookup`,
`example_words`. `zero_shot` runs two steps and an evaluation; `recommendation` turns advice and
evaluated alignments into a recipe.
"""
