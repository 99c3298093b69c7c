"""Predictions of a fine-tuned run: plain_text (examples from plain text), answering (questions on a
context of any length); fill_mask (masked words) and sentence_similarity (two sentences) with a
model that was not fine-tuned.
"""
