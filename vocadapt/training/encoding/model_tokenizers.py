"""The tokenizers of a model, with the ids that its network uses.

An adapted model has two: the adapted one in its folder ("adapted"), and the original one ("base");
any other model has "base" only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.models.adapted_model import open_base_model
from vocadapt.models.language_model import LanguageModel
from vocadapt.text.tokenization import encode_batch

Ids = NDArray[np.int32]
BASE, ADAPTED = "base", "adapted"
ENDS = 2  # special tokens around a text: [CLS] … [SEP]
PROBE = "a"  # a word that every tokenizer can tokenize


@dataclass(frozen=True, eq=False)
class ModelTokenizer:
    """A tokenizer of a model, with the ids that the network uses for its tokens.

    specials: network ids of the special tokens (cls, sep, pad, unk). network_ids: (n,) int32,
    network id of each id of the tokenizer; None if they are the same. n_between: number of
    separators between two texts, 1 in BERT and 2 in RoBERTa. before_word: text to put before a
    single word, so that it is tokenized as after a space.
    """

    name: str
    tokenizer: Tokenizer
    specials: Mapping[str, int]
    network_ids: Ids | None = None
    n_between: int = 1
    before_word: str = field(default="")

    def ids(self, texts: Iterable[str]) -> dict[str, Ids]:
        """Tokenize texts without special tokens; each distinct text once."""
        return self._encode(texts, "")

    def word_ids(self, words: Iterable[str]) -> dict[str, Ids]:
        """Tokenize words as if each followed a space; each distinct word once."""
        return self._encode(words, self.before_word)

    def _encode(self, texts: Iterable[str], before: str) -> dict[str, Ids]:
        distinct = list(dict.fromkeys(texts))
        prepared = [f"{before}{text}" for text in distinct]
        found = encode_batch(self.tokenizer, prepared, add_special_tokens=False)
        encoded = [np.array(encoding.ids, dtype=np.int32) for encoding in found]
        if self.network_ids is not None:
            encoded = [self.network_ids[ids] for ids in encoded]
        return dict(zip(distinct, encoded, strict=True))


def load_tokenizers(model: LanguageModel) -> dict[str, ModelTokenizer]:
    """Return the tokenizers of a model by name.

    There is only "adapted" if the model has no embeddings for some tokens of its original
    vocabulary. There is only "base" if it was not adapted, or got no new words.
    Raises InputError, before any text is read, if some tokens have no embedding.
    """
    model.check_rows()
    # 1. The tokenization is unchanged: the model was not adapted, or got no new word.
    before = open_base_model(model)
    known = model.vocabulary.ids
    if before is None or (
        set(before.vocabulary.tokens) == set(known)
        and not before.vocabulary.find_activated(model.vocabulary)
    ):
        return {BASE: _build_tokenizer(BASE, model, None)}

    # 2. The model lacks tokens of its original vocabulary.
    adapted = {ADAPTED: _build_tokenizer(ADAPTED, model, None)}
    tokens = before.vocabulary.tokens
    if any(token not in known for token in tokens):
        return adapted

    # 3. The model has all of them, under new ids.
    network_ids = np.array([known[token] for token in tokens], dtype=np.int32)
    return {BASE: _build_tokenizer(BASE, before, network_ids), **adapted}


def _build_tokenizer(name: str, model: LanguageModel, network_ids: Ids | None) -> ModelTokenizer:
    if lacking := model.vocabulary.list_missing("cls", "sep", "pad"):
        raise InputError(
            f"{model.path}: its tokenizer has no token {lacking[0]}, which fine-tuning needs.",
            "Choose an encoder, such as BERT or RoBERTa.",
        )
    specials = model.vocabulary.role_ids
    if network_ids is not None:
        specials = {role: int(network_ids[i]) for role, i in specials.items()}
    # If a tokenizer has no template, it adds no special tokens: use BERT's template.
    n_specials = model.fast_tokenizer.num_special_tokens_to_add(True)
    return ModelTokenizer(
        name,
        model.fast_tokenizer,
        specials,
        network_ids,
        max(1, n_specials - ENDS),
        _find_text_before_word(model),
    )


def _find_text_before_word(model: LanguageModel) -> str:
    """Return the text to put before a word so that it is tokenized as after a space: "" if the
    tokenizer needs no space, as in WordPiece, or adds it, as most Unigram tokenizers do.
    """
    wanted = [model.vocabulary.spell(PROBE)]
    for before in ("", " "):
        if model.splitter.pretokens(f"{before}{PROBE}") == wanted:
            return before
    return ""
