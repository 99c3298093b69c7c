"""Model inputs: `model_tokenizers` (the tokenizers of a model), `encoding` (of sentences and texts,
under one or both tokenizations), `question_encoding` (of questions on long contexts, in windows).
"""
