"""Part Fine-tune.

Read in this order: `page` (the order of its blocks), `view` (the form), `task_intake` (tasks),
`result` (a running job, newest runs).
"""
