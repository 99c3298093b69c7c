"""Fine-tuning of a model on a task.

Modules in reading order:

1. settings: epochs, batch size, learning rate; presets of the papers.
2. outputs: the outputs of the network's head, and predictions from their logits.
3. tokenizations: the tokenization of each training example, batches, and pooling of logits.
   predict: logits of examples.
4. trainer: trains a network, and restores the epoch with the best dev score.
   finetuning_trainer: transformers' Trainer, as trainer uses it.
5. finetune: combines all of these: trains a model on a task and scores it.
6. run_files: saves and loads a run.
"""
