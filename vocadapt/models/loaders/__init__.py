"""Loaders: whether programs other than transformers load an adapted model correctly.

Read in this order: `loader` (a loader, and its result), `registry` (all loaders),
`trial_texts` (the texts that are tokenized, and the comparison of ids), `tokenizer_files` (the
libraries tokenizers and sentencepiece), `transformers_js` (JavaScript), `python_packages` (ONNX and
sentence-transformers, each in a separate process).
"""
