"""Jobs: steps that run in background processes, one at a time per workspace; if a server gives each
visitor a workspace, one at a time for all of them.

Read in this order: `status` (state and progress of a job), `job` (a job by its folder), `queue`
(start, resume and list jobs), `living` (find the jobs that have not ended), `shared_queue` (the
order of the jobs of visitors), `worker` (the process of a job), `watchdog` (kills a job whose
tokenizer hangs), `listing` (a job as a value), `uploads` (files from the browser).
"""
