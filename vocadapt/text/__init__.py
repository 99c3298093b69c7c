"""Text: files to lines, lines to words, words to counts.

Read in this order: `formats` (one reader per file format), `corpus` (files and filters), `language`
(the filter by language), `splitter` (a model's pre-tokenization), `counting` and `words` (word
counts and the training file), `keyword_in_context`, `entities`; `tokenization`, `display` and
`spreadsheet` are helpers for safe calls and safe output.
"""
