"""Text: files to lines, lines to words, words to counts.

Read in this order: `corpus` (a text: files, and which of their lines are read), `splitter` (a
model's pre-tokenization: a line becomes words), `words` (word counts and the training file for
word2vec), `counting` (how words are counted fast), `keyword_in_context` (occurrences of a word).
The others can wait: `formats` (one reader per file format), `language` (the corpus' filter by
language), `entities` (words of a labeled file), `tokenization` (errors of the tokenizers library),
`display` and `spreadsheet` (safe output of untrusted text).
"""
