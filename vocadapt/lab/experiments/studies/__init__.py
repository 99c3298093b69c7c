"""Studies: grids of variants × tasks × seeds, described by one file.

Read in this order: `study_file` (the file, checked; `extended_files` and `table_reader` read it),
`study` (what a job runs), `cell_step` (a step of the study, and its digest), `grid` (its steps:
word vectors, adapted models, and cells that fine-tune them), `runner` (which step runs when,
retries, failures), `places` (where they run: opens the pool), `pools` (on this machine) and
`cell_worker` (the process that runs them), `ray_pool` (on a Ray cluster), `slurm` (an array
script); then what is read from the folder of a study: the `states` of its cells, the `table` of
results, `estimates` of the remaining cells, and the `report` (with `labelled_settings`). `merged`
combines the runs of all seeds, and `saved` handles studies that the pages save.
"""
