"""Page Fine-tune: `view` (the form), `task_intake` (tasks), `result` (a running job, newest runs)."""
