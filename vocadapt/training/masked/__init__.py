"""Masked-language-model training with whole-word masking, and next-sentence prediction.

How a training is put together, in the order to read:

1. training_text: the words of a text in a file, and the lines that are held out.
2. blocks: the words become blocks of wordpieces, with new masked positions in each pass.
   sentence_pairs: blocks of two segments, for next-sentence prediction.
3. losses: the loss at the masked positions, and of next-sentence prediction.
4. settings (with the stages of continued pretraining, and presets), then trainer: the budget in
   steps, and the training itself.
5. validation: the loss on held-out lines before, during and after the training.
6. The two uses: from_scratch (a new small BERT), and continued (an existing model, by stages), with
   continued_adaptation (a model that was just adapted).
"""
