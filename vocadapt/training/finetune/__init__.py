"""Fine-tuning of a model on a task.

Read settings, encoding (sentences and texts to model inputs), question_encoding (long contexts to
windows), encodings (any kind of example), outputs (labels to targets and logits to predictions),
mixture (batches under one or both tokenizations), trainer, then finetune, which uses them all, and
run_files (a run as a folder). Supporting modules: losses, used_embeddings (smaller embedding matrix
while training), estimates (duration before the start).
"""
