"""Error analysis: two sets of predictions for the same examples.

Read in this order: `votes` (predictions under each tokenization, and which one was outvoted),
`ledger` (one entry per unit: fixed, broken, both wrong or both right), `word_tokenizations` (words
before and after an adaptation), `slicing` (where a change comes from), `keywords` (words in
context), `entry_lines`, `html` and `report` (display and export).
`confusion` (confusion matrix) stands alone.
"""
