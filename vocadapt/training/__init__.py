"""Training and its evaluation.

Read tasks (examples and labels), scoring (metrics), finetune (training on a task), prediction
(using a fine-tuned model), then masked (masked-language-model training: from scratch or continued).
Shared modules: callbacks (progress, checkpoints, divergence), trainers (subclasses of transformers'
Trainer), labels, schedules, rounding, estimates (duration before the start). Two modules train only
new embeddings: trained_parameters (the setting) and separated_embeddings. Two modules compute
vectors from a text: word_vectors (word2vec) and distillation (embeddings of new tokens).
"""
