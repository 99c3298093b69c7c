"""Fine-tuning of a model on a task.

Modules in reading order:

1. settings: epochs, batch size, learning rate; presets of the papers.
2. model_tokenizers: the tokenizers of a model. encoding: model inputs of sentences and texts,
   under one or both tokenizations of a model.
   question_encoding: the same for questions on long contexts, in windows.
3. outputs: the outputs of the network's head, and predictions from their logits.
4. tokenizations: the tokenization of each training example, batches, and pooling of logits.
5. trainer and finetuning_trainer: training by transformers' Trainer; the epoch with the best dev
   score is used.
6. finetune: combines all of these: trains a model on a task and scores it.
7. run_files: saves and loads a run.
"""
