"""Page Fine-tune: `view` (the form), `task_intake` (tasks), `live` (a running job), `result`."""
