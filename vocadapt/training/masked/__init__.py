"""Masked-language-model training with whole-word masking, and next-sentence prediction.

Modules in reading order:

1. blocks: blocks of tokens, with new masked positions in each pass.
   sentence_pairs: blocks of two segments, for next-sentence prediction.
2. losses: the masked-token loss and the next-sentence loss.
3. settings: settings, presets, the stages of continued pretraining, and the parameters of a stage.
   trainer: the budget in steps, and the training; masked_trainer: transformers' Trainer for it.
4. validation: the loss on held-out lines before, during and after the training.
   report: all figures of a training, and what they show.
5. The two uses: from_scratch trains a new small encoder of one of the `architectures`, and
   continued an existing model, by stages; continued_adaptation does so for a model that was just
   adapted.
"""
