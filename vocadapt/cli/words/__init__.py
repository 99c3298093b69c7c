"""Commands on words and spaces: `words` (words count, context), `align` (align, neighbors,
project), `change`, `diagnose` (diagnose, relations, vectors evaluate). vectors train, contextual
and import are commands of steps: see `vocadapt.cli.lab.step_command`.
"""
