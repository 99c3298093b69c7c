"""Vocabulary plans: which tokens are removed and added, decided before any weight changes.

Read in this order: `plan` (VocabularyPlan), `planning` (one function for each kind of plan),
`reduction` (removal), `augmentation` (addition), `reachable` (what a tokenizer can produce),
`tokenizer` (the tokenizer after a plan).
"""
