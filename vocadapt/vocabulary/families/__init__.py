"""Tokenizer families: how tokens are spelled, how words are tokenized, and how tokenizers are read,
trained and edited. All other packages use a Vocabulary or a TokenizerFamily.

Three terms: a *tokenizer* is an object of the tokenizers library. Its *vocabulary* holds its tokens
and does not need that library. Its *family* is the kind of tokenizer (WordPiece): one object for
each kind, which builds vocabularies from tokenizers, and new tokenizers from old ones.

Read in this order: `family` (what a family provides), then the families:

- `wordpiece`, with `wordpiece_training`: BERT;
- `marked_vocabulary` (base class of all other families);
- `merges`, `bpe_vocabulary` and `bpe` (base classes of all BPE families), `byte_level_bpe`:
  RoBERTa, GPT-2, ModernBERT, Llama 3, Qwen;
- `unigram`, with `unigram_vocabulary`, `unigram_scores` (scores of new tokens), `unigram_training`:
  XLM-R, DeBERTa-v3, T5;
- `sentencepiece_bpe`: Llama 2 and Gemma.

`reading` reads a tokenizer, `roles` finds special tokens. The package `files` reads, checks and
edits the files of tokenizers; `tables` tokenizes many pre-tokens at once.
"""

from vocadapt.vocabulary.families.byte_level_bpe import ByteLevelFamily
from vocadapt.vocabulary.families.family import (
    FAMILIES,
    TokenizerFamily,
    family_of,
    find_trainer,
    list_trainers,
    register_family,
    vocabulary_of,
)
from vocadapt.vocabulary.families.reading import explain_casing, read_tokenizer
from vocadapt.vocabulary.families.roles import read_roles
from vocadapt.vocabulary.families.sentencepiece_bpe import SentencePieceBpeFamily
from vocadapt.vocabulary.families.unigram import UnigramFamily
from vocadapt.vocabulary.families.wordpiece import WordPieceFamily
from vocadapt.vocabulary.vocabulary import Vocabulary

__all__ = [
    "FAMILIES",
    "TokenizerFamily",
    "Vocabulary",
    "explain_casing",
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
