"""Text: files to lines, lines to words, words to counts.

Read in this order: `corpus` (files, and which of their lines are read), `splitter` (a model's
pre-tokenization: a line becomes words), `words` (word counts and the training file for word2vec),
`counting` and `line_division` (fast word counting), `identical_lines` (copies, and lines that are
held out), `shards` (counting by several processes), `keyword_in_context` (occurrences of a word),
`pretoken_lines` (lines with some pre-tokens), `word_search` (the words that a search text matches:
`spelling`, `patterns` and `formulas` do the work). Read the others when needed: `formats` (one
reader per file format), `language` (filter for the main language of a corpus), `glossary` (words
with descriptions), `tokenization` (errors of the tokenizers library), `display` and `spreadsheet`
(safe output of untrusted text), `summary` (how the main values show themselves in a notebook).
"""
