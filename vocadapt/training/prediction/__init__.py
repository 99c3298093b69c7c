"""Predictions of a fine-tuned run: predict (logits of examples), plain_text (examples from plain
text), answering (questions on a context of any length).
"""
