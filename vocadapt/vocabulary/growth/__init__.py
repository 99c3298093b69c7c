"""Effect of a vocabulary on the length of a text, from counts of its distinct words.

Read in this order: `word_tokenizations` (statistics, and the gain of added words), `growth` (after
a reduction or an extension), `plan_cost` (after any plan).
"""
