"""Predictions of a fine-tuned run: predict (examples to logits), plain_text (plain text to
examples, predictions to lines), answering (questions on a context of any length).
"""
