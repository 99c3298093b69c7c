"""The files of tokenizers: read safely, checked and edited.

`tokenizer_checks` and `tokenizer_trial` test a tokenizer.json before a library reads it, and
`tokenizer_json` edits it. Folders without one are read by `vocab_file` (vocab.txt of BERT),
`merges_file` (vocab.json and merges.txt) and `sentencepiece_file` (.model); `metaspace` is the
splitter of the last two kinds.
"""
