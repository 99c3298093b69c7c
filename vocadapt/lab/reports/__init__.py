"""Reports: answers computed from models and artifacts, the same for page and command line.

They do not depend on each other: `advice`, `diagnostics`, `gates`, `ledgers` (error analysis),
`noise_baselines`, `pretraining`, `results`, `word_lookup`.
"""
