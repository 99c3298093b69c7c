"""Tasks: examples with labels and splits, and how they are read from files.

1. kinds: what is special about each kind of task, an object for each.
2. task: Task, and any file or folder to a Task.
3. predictions: counts of predictions.

Supporting modules: formats (readers of files of examples), seen_examples (leakage between splits),
training_sample (a limited number of training examples), word_endings, benchmarks (cards of
published benchmarks, and their download).
"""
