"""Jobs: steps that run in background processes, one at a time per workspace.

Read in this order: `status` (state and progress of a job), `job` (a job by its folder), `queue`
(start, resume and list jobs), `worker` (the process of a job), `watchdog` (kills a job whose
tokenizer hangs), `load` (of this machine), `estimates` (durations of steps).
"""
