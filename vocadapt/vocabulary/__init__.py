"""Vocabularies: read them, decide what to change, and initialize the embeddings of new tokens.

The steps from the tokenizer of a model to the embeddings of its new tokens:

    Tokenizer             as the tokenizers library reads it from a model folder
      → Vocabulary        its tokens by id, their spelling, and the tokenization of words
      → VocabularyPlan    which tokens are removed and added, and which embeddings are new
      → Materials         the plan, the model's embeddings, word vectors, an alignment
      → NewEmbeddings     an embedding for each new token, with its provenance

Example: BERT tokenizes "hypertension" as hyper ##tension. A plan of the kind `append` adds the
token hypertension with the next free id. The initializer `syntactic` gives it the mean of the
embeddings of hyper and ##tension. `vocadapt.models` then writes this embedding into the network.

Read in this order: `vocabulary` (the tokens of a model, their spelling, and the tokenization of
words), `families` (the kinds of tokenizers), `plan` (which tokens are removed and added),
`initializers` (embeddings of new tokens), `growth` (effect on the length of a text), `advice`
(whether a change is worth it), then `overlap` and `lens` (comparisons of vocabularies).
"""
