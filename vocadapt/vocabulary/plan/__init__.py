"""Vocabulary plans: which tokens are removed and added, decided before any weight changes.

A plan is a value: nothing is changed when it is made. `adapt_tokenizer` applies it to a tokenizer,
`vocadapt.models.adapted_model` to a network. A *reduction* ranks the tokens to remove, an
*augmentation* the tokens to add; a *kind* of plan (`KINDS`) combines them.

Read in this order: `plan` (VocabularyPlan), `planning` (one function for each kind of plan),
`reduction` (removal), `augmentation` (addition, and `register_heuristic`), `forms` (the forms of a
word), `trimming` (keeping the tokens of a text) with `trim_figures` and `trim_lines`, `token_map`,
`tokenizer` (the tokenizer after a plan), `exact_words` (a check of exact words on a text).
"""
