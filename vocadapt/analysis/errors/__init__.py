"""Error analysis: two sets of predictions for the same examples.

Read in this order: `outcomes` (fixed, broken, both wrong, both right), `ledger` (one entry per
unit), `votes` (which tokenization was outvoted), `word_tokenizations` (words before and after an
adaptation), `slicing` (where a change comes from), `keywords` and `example_context` (words in
context), `entry_lines`, `html` and `report` (how it is shown and exported). `confusion` (confusion
matrix) and `single_example` (one example predicted by a run) stand alone.
"""
