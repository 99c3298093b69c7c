"""Results of fine-tuned runs: `results` ranks and compares the runs of a task,
`setting_differences` lists the settings in which runs differ, `fair_pairs` chooses the runs that
are compared at first, `study_report` renders the report of a study.
"""
