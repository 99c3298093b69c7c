"""GGUF: whether llama.cpp would tokenize a converted model identically, by rules from its source.

Nothing is converted. The rules, from `conversion/base.py`, `conversion/bert.py`, `conversion/t5.py` and
`src/llama-vocab.cpp` as of November 2026:

- Byte-level BPE: the file names a pre-tokenizer, found by a hash of the ids of a fixed text. Whole words
  are looked up before merging only for some names (`llama-bpe`, `tekken`, `lfm2` and a few more), not
  for those of GPT-2, RoBERTa, ModernBERT or Qwen 2; `ignore_merges` of tokenizer.json is not read.
- WordPiece: the longest token is taken at each place. An added word has no rule for whole words: it also
  matches at the beginning of a longer word.
- Unigram: the converter of T5 needs a SentencePiece file. That of XLM-R reads pieces and scores from
  tokenizer.json, if the normalizer there is a character map alone.
"""

import json
from typing import Any

from tokenizers import Tokenizer

from vocadapt.models.edit import Edit
from vocadapt.models.load_states import DIFFERS, NOT_TRIED
from vocadapt.models.loaders.loader import Finding

UNKNOWN = "nothing was converted, and no rule says that it would differ"
NEEDS_FILE = ("t5", "mt5", "umt5")  # model types whose converter reads only a SentencePiece file
WHOLE_WORDS_LOST = (
    "by its source it would differ: the pre-tokenizer of the original model has no lookup of whole"
    " words (ignore_merges) there, so the added words would be tokenized as before"
)
KEEPS_LOOKUP = (
    "nothing was converted; the original model has ignore_merges, too, which is switched on there for"
    " pre-tokenizers such as llama-bpe"
)
PREFIXES = "by its source it would differ: an added word would also match at the beginning of a longer word"
NO_FILE = "by its source it cannot be converted: the converter needs a SentencePiece file"
CHARACTER_MAP = "Precompiled"  # type of a normalizer
NO_CHARACTER_MAP = (
    "by its source it cannot be converted: the converter needs a normalizer that is a character map"
)
READS_SCORES = "nothing was converted; the converter of XLM-R reads the scores of tokenizer.json"


def apply_gguf_rules(edit: Edit) -> Finding:
    """Judge by rules whether llama.cpp would tokenize the converted model differently."""
    kind = type(edit.after.fast_tokenizer.model).__name__
    if kind == "BPE":
        return _judge_merges(edit)
    if kind == "Unigram":
        return _judge_pieces(edit)
    if _has_whole_words(edit.after.fast_tokenizer):
        return DIFFERS, PREFIXES
    return NOT_TRIED, UNKNOWN


def _judge_merges(edit: Edit) -> Finding:
    before, after = (
        bool(getattr(model.fast_tokenizer.model, "ignore_merges", False))
        for model in (edit.before, edit.after)
    )
    if after and not before:
        return DIFFERS, WHOLE_WORDS_LOST
    if after:
        return NOT_TRIED, KEEPS_LOOKUP
    return NOT_TRIED, UNKNOWN


def _judge_pieces(edit: Edit) -> Finding:
    if edit.after.config.get("model_type") in NEEDS_FILE:
        return DIFFERS, NO_FILE
    normalizer: Any = edit.after.fast_tokenizer.normalizer
    if normalizer is None or json.loads(normalizer.__getstate__()).get("type") != CHARACTER_MAP:
        return DIFFERS, NO_CHARACTER_MAP
    return NOT_TRIED, READS_SCORES


def _has_whole_words(tokenizer: Tokenizer) -> bool:
    """Return whether some added token matches only as a whole word."""
    added = tokenizer.get_added_tokens_decoder().values()
    return any(token.single_word and not token.special for token in added)
