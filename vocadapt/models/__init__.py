"""Models: open them safely, change their embeddings, extend, certify and describe them.

Read in this order: `model_folder` (everything except the network), `language_model` (open a model),
`loading` (load its network) and `transformers_tokenizer` (load and save its tokenizer), `abilities`
(the steps that an architecture supports), `adapted_model` (apply a vocabulary plan) and `saving`
(save the result), `config_ids` (token ids in config files), `embedding_matrix` (as it is stored),
`token_tensors` (all tensors with one entry for each token), `embedding_change` (apply a plan to
them), `edit` (a model before and after), `certificate` (checks that nothing else changed),
`loaders` and `load_states` (which other programs load the result), `packs` (added tokens in a
separate file), `contextual` (contextual vectors and masked-token loss), `add_extension`,
`extension_size` and `exbert` (extension modules). The others are small: `model_files` (stored
tensors), `checks` (of a folder), `config_sizes` and `network_class` (sizes and class of an
architecture), `layers` (the parts that depend on the vocabulary), `bert_attention` (a layer at some
positions only), `trimmed_size`, `heads` (new task heads), `sentence_modules` (files of
sentence-transformers), `card` (the model card), `convert` (a .bin file to safetensors).
"""
