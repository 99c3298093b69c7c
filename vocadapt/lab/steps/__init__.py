"""Steps: a spec in, an artifact out.

Read in this order: `settings` (one dataclass per step), `spec` (a step as a value), `context` (what
a step works with), `steps` (the registry, and `run_step`), then the larger steps: `adapt`,
`contextual`, `compare_initializers`, `projection`, `finetune`, `zero_shot`. `command_lines` turns a
spec into its command line.
"""
