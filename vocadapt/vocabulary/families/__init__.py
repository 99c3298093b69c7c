"""Tokenizer families: how tokens are spelled, how words are tokenized, and how tokenizers are read,
trained and edited. All other packages use a Vocabulary or a TokenizerFamily.

Three terms: a *tokenizer* is an object of the tokenizers library. Its *vocabulary* holds its tokens
and does not need that library. Its *family* is the kind of tokenizer (WordPiece): one object for
each kind, which builds vocabularies from tokenizers, and new tokenizers from old ones.

Read in this order: `vocabulary` and `family` (what a family provides), `wordpiece` (the family of
BERT), `merges` and `bpe` (what all kinds of BPE have in common), `byte_level_bpe` (the family of
RoBERTa and GPT-2) with `merges_file` (for folders without a tokenizer.json), `roles` (special
tokens), `tokenizer_checks` and `tokenizer_trial` (reading files safely), `tokenizer_json` (editing
them), `vocab_file`, `wordpiece_training`. Fast tokenization without some of the tokens:
`prefix_trees` and `longest_match` (WordPiece), `merge_rounds`, `merge_table` and `leaf_pruning`
(BPE), `best_splits`, `beginnings` and `segmentation_table` (Unigram).

The family of XLM-R and T5 is `unigram`, with `unigram_vocabulary`, `unigram_scores` (scores of new
tokens), `unigram_training`, `metaspace` (its splitter) and `sentencepiece_file` (for folders without
a tokenizer.json). That of Llama 2 and Gemma is `sentencepiece_bpe`.
"""

from vocadapt.vocabulary.families.byte_level_bpe import ByteLevelFamily
from vocadapt.vocabulary.families.family import (
    FAMILIES,
    TokenizerFamily,
    family_of,
    find_trainer,
    list_trainers,
    read_tokenizer,
    register_family,
    vocabulary_of,
)
from vocadapt.vocabulary.families.roles import read_roles
from vocadapt.vocabulary.families.sentencepiece_bpe import SentencePieceBpeFamily
from vocadapt.vocabulary.families.unigram import UnigramFamily
from vocadapt.vocabulary.families.vocabulary import Vocabulary
from vocadapt.vocabulary.families.wordpiece import WordPieceFamily

__all__ = [
    "FAMILIES",
    "TokenizerFamily",
    "Vocabulary",
    "family_of",
    "find_trainer",
    "list_trainers",
    "read_roles",
    "read_tokenizer",
    "register_family",
    "vocabulary_of",
]

register_family(WordPieceFamily())
register_family(ByteLevelFamily())
register_family(UnigramFamily())
register_family(SentencePieceBpeFamily())
