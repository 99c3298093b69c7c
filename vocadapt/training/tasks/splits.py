"""The names of the splits of a task, without an import: lists of artifacts read records quickly."""

SPLITS = ("train", "dev", "test")
