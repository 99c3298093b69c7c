"""Part Fine-tune.

Read in this order: `page` (the form), `task_intake` (tasks), `result` (a running job, newest runs).
"""
