"""Tokenizer families; today WordPiece.

Read in this order: `wordpiece` (Vocabulary and how it tokenizes), `vocab_file`, `tokenizer_checks`
and `tokenizer_trial` (reading files safely), `wordpiece_training` and `merging` (training).
"""
