"""Models: open them safely, change their embeddings, extend, certify and describe them.

Read in this order: `language_model` and `loading` (open a model; `config_checks` and `weights` check
its files), `adapted_model` (apply a vocabulary plan), `add_extension` and `exbert` (extension
modules), `certificate` (proof that the rest is unchanged), `contextual` (what a model computes for
words in a text), `card` (the model card), then `heads`, `layers`, `convert`, `saving`.
"""
