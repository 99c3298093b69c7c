"""Training and its evaluation.

Read examples (with labels), scoring (metrics), encoding (model inputs), tasks (kinds of tasks, and
their files), finetune (training on a task), prediction (using a fine-tuned model), then masked
(masked-language-model training: from scratch or continued; training_text prepares its text). Shared
modules: callbacks (progress, checkpoints, divergence), trainers (the Trainer of all trainings),
labels, losses, schedules, rounding, estimates (duration before the start). Two modules train only
new embeddings: trained_parameters (the setting) and separated_embeddings. word_vectors trains
word2vec on a text. Embeddings of new tokens: distillation (fitted to a text) and grounding (to a
glossary), both by embedding_fitter, and joined_states (mapped hidden states).

A module trainer runs a training. The module with its Trainer (finetuning_trainer, masked_trainer)
loads torch, so it is imported only when a training begins.
"""
