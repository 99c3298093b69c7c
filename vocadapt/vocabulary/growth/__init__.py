"""Effect of a vocabulary on the length of a text, from counts of its distinct words.

Read in this order: `word_tokenizations` (statistics), `growth` (after a reduction),
`extension_size` (after an extension), `gains` (benefit and cost of added words).
"""
