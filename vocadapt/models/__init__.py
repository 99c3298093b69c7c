"""Models: open them safely, change their embeddings, extend, certify and describe them.

Read in this order: `model_folder` (what is known without the network) and `language_model` (open a
model; `loading`, `config_checks` and `weights` load and check its files), `adapted_model` (apply a vocabulary plan), `add_extension` and `exbert` (extension
modules), `certificate` (proof that the rest is unchanged), `contextual` (what a model computes for
words in a text), `card` (the model card), then `heads`, `layers`, `convert`, `saving`.
"""
