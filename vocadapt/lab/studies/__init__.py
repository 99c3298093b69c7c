"""Studies: grids of variants × tasks × seeds, described by one file.

Read in this order: `study_file` (the file, checked; `extended_files` and `table_reader` read it),
`grid` (its steps: adapted models, and cells that fine-tune them), `runner` (which step runs when,
retries, failures), `places` (where they run: a pool for each place), `pools` (on this machine) and
`cell_worker` (the process that runs them), `ray_pool` and `ray_cluster` (on a Ray cluster),
`slurm` (an array script), `ray_counts` (words of a large text on Ray); then what is read from the
folder of a study: `states` of its cells, its results as a `table`, `estimates` of what is left,
its `report`, and its runs for a `tracker`; `saved` is what the pages save.
"""
