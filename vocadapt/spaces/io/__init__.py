"""Reading and writing word vectors.

Read in this order: `word_files` (one word per line), `storage` (our own format, safetensors without
loading), `row_files` (rows of text and binary formats), `import_formats` (format detection),
`case_folding` (merging spellings).
"""
