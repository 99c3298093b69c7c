"""Tasks: examples with labels and splits, and how they are read from files.

Read examples (examples and their splits), kinds (what is special about each kind of task: an object
for each), task (Task), task_file (any file or folder to a Task), tags (tagging schemes),
predictions (counts of predictions). For question answering: context_windows (windows over long
contexts, best spans). Supporting modules: formats (readers of files of examples), chunks, folds,
seen_examples (leakage between splits), word_endings, benchmark_card and download (published
benchmarks).
"""
