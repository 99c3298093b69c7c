"""Masked-language-model training with whole-word masking, and next-sentence prediction.

Read training_text (words in a file, held-out lines), blocks (packing and masked positions),
sentence_pairs (pairs for next-sentence prediction), losses, trainer (settings and the training
itself), then the two uses: from_scratch (a new small BERT) and continued (an existing model, by
stages; continued_adaptation: one that was just adapted). Supporting modules: budget (hours to
steps), validation and held_out_loss (success on held-out lines), checkpoints, estimates (cost
before the start).
"""
