"""Models: open them safely, change their embeddings, extend, certify and describe them.

Read in this order:

1. Open a model: `model_folder` (everything except the network), `language_model` (a model by its
   folder or hub name), `loading` (its network), `transformers_tokenizer` (load and save its
   tokenizer), `abilities` (the steps that an architecture supports).
2. Adapt it: `adapted_model` (apply a vocabulary plan, and save the result), `embedding_change` (the
   plan in tensors) with `token_tensors` (all tensors with one entry for each token) and
   `embedding_matrix` (as it is stored), `config_ids` (token ids in config files), `saving`.
3. Check the result: `edit` (a model before and after), `certificate` (checks that nothing else
   changed), `loaders` and `load_states` (which other programs load it), `card` (the model card).
4. Others: `packs` (added tokens in a separate file), `contextual` (contextual vectors and
   masked-token loss), `add_extension`, `extension_size` and `exbert` (extension modules), `heads`
   (new task heads), `convert` (a .bin file to safetensors).

Small modules that these use: `model_files` (stored tensors), `checks` (of a folder), `config_sizes`
and `network_class` (of an architecture), `layers` (the parts that depend on the vocabulary),
`bert_attention` (a layer at some positions), `trimmed_size`, `sentence_modules`.
"""
