"""Reading and writing word vectors.

Read in this order: `word_files` (one word per line), `tensors` (safetensors without loading),
`storage` (our own format), `row_files` (rows of text and binary formats), `import_formats` (format
detection), `case_folding` (merging spellings).
"""
