"""Jobs: steps that run in background processes, one at a time per workspace.

Read in this order: `status` (the files that tell how a job is doing), `job` (a job by its folder),
`queue` (start, resume, list), `worker` (the process itself), `watchdog` (kills a step that hangs),
`estimates` (seconds a step will take).
"""
