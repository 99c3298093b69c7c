"""Vocabulary plans: which tokens are removed and added, decided before any weight changes.

Read in this order: `plan` (VocabularyPlan), `planning` (one function for each kind of plan),
`reduction` (removal), `augmentation` (addition), `tokenizer` (the tokenizer after a plan);
`heuristics` registers removal heuristics.
"""
