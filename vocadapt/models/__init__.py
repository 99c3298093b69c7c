"""Models: open them safely, change their embeddings, extend, certify and describe them.

Read in this order: `model_folder` (everything except the network), `language_model` (open a
model; `loading` and `model_files` load it and check its files), `adapted_model` (apply a vocabulary
plan and save the result), `certificate` (checks that nothing else changed), `contextual`
(contextual vectors and masked-token loss), `add_extension`, `extension_size` and `exbert`
(extension modules). The others are small: `card` (the model card), `layers` (the parts that depend
on the vocabulary), `heads` (new task heads), `convert` (a .bin file to safetensors).
"""
