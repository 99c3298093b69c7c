"""Certificate: checks that a change of the vocabulary changed nothing else in a model.

Read in this order: `certificate` (the checks), `comparisons` (functions
that the checks share), `tokenizer_settings` (a check of everything but the vocabulary),
`reload_process` (loading the adapted model in a process without vocadapt).
"""
