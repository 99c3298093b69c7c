"""Tasks: examples with labels and splits, and how they are read from files.

1. examples: examples and their splits.
2. kinds: what is special about each kind of task, an object for each.
3. task: Task, and any file or folder to a Task.
4. tags: tagging schemes. predictions: counts of predictions.
5. For question answering, context_windows: windows over long contexts, best spans.

Supporting modules: formats (readers of files of examples), seen_examples (leakage between splits),
training_sample (a limited number of training examples), word_endings, benchmarks (cards of
published benchmarks, and their download).
"""
