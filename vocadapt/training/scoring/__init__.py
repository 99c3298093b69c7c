"""Scores of predictions, from counts per sentence, document or question.

Read counts (counts, rules, scorers, precision, recall and F1), scorers (all scorers by name),
uncertainty (bootstrap intervals and paired tests), summary (means over seeds and tasks).
"""
