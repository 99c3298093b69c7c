"""Fine-tuning of a model on a task.

How a training is put together, in the order to read:

1. settings: epochs, batch size, learning rate; presets of the papers.
2. encoding: sentences and texts become model inputs, under one or both tokenizations of a model.
   question_encoding: the same for questions on long contexts, in windows.
3. outputs: the outputs of the network's head, and predictions from their logits.
4. tokenizations: which tokenization an example is trained in, batches, and pooling of logits.
5. trainer: training on transformers' Trainer; the best epoch by its dev score is kept.
6. finetune: all of these together: a task and a model become a trained network with scores.
7. run_files: a run as a folder.
"""
