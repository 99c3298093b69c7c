"""Scores of predictions, from counts per sentence, document or question.

Read counts (counts, rules, scorers, precision, recall and F1), then the scorers of each kind of
task: entities, labels, answers; registry (all scorers by name), uncertainty (bootstrap intervals
and paired tests), summary (means over seeds and tasks).
"""
