"""Tasks: examples with labels and splits, and how they are read from files.

Read examples (examples and their splits), task (Task), kinds (readers of each kind of file), task_file
(any file or folder to a Task), tags (tagging schemes), predictions (files with predictions). For
question answering: context_windows (windows over long contexts, best spans). Supporting modules:
table_rows (tables and JSON lines), chunks, folds, seen_examples (leakage between splits),
word_endings, benchmark_card and download (published benchmarks).
"""
