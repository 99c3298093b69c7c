"""Encoding of examples under each tokenizer of a model: wordpiece ids, and the positions whose
logits are used.

An adapted model has two tokenizers: the one in its folder ("adapted"), and the one from before its
adaptation ("base"); any other model has "base" only. An example is divided into the same parts
under both, so that their logits have the same rows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.models.adapted_model import open_base_model
from vocadapt.models.language_model import LanguageModel
from vocadapt.settings import check_settings, setting
from vocadapt.text.tokenization import encode_batch
from vocadapt.training.tasks.chunks import chunk_bounds
from vocadapt.training.tasks.examples import Sentence, Text
from vocadapt.training.tasks.tags import spans_of

Ids = NDArray[np.int32]
BASE, ADAPTED = "base", "adapted"
SPECIALS = 2  # [CLS] … [SEP]

DIVIDED = "sentences divided into chunks"
LONG_WORDS = "words longer than the window, read up to its end"
NO_PIECES = "words without a single piece, read as unknown"
IN_PARTS = "texts longer than the window, read in parts whose outputs are averaged"
CUT_OFF = "pairs of texts longer than the window, read up to its end"
OF_EXAMPLES = (DIVIDED, IN_PARTS, CUT_OFF)  # what is counted in examples, not in words
NO_BASE = "tokenizers left out: the model has no rows for the tokens of its original vocabulary"


@dataclass(frozen=True)
class EncodingSettings:
    """Limits of an encoded input."""

    length: int = setting(
        512,
        "maximum sequence length in wordpieces, special tokens included",
        low=3,
        high=32_768,
        label="Max length",
        flag="",
    )
    words: int = setting(
        30,
        "maximum words per chunk (Poerner et al. 2020: 30)",
        high=100_000,
        label="Words per chunk",
        flag="",
        empty="as many as fit",
    )

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, eq=False)
class ModelTokenizer:
    """A tokenizer, the ids of its special tokens (cls, sep, pad, unknown) in the network, and the
    network's id of each of its own ids (None: the same).
    """

    name: str
    tokenizer: Tokenizer
    specials: Mapping[str, int]
    rows: Ids | None = None

    def ids(self, texts: Iterable[str]) -> dict[str, Ids]:
        """Tokenize texts without special tokens; each distinct text once."""
        distinct = list(dict.fromkeys(texts))
        found = encode_batch(self.tokenizer, distinct, add_special_tokens=False)
        encoded = (np.array(encoding.ids, dtype=np.int32) for encoding in found)
        return {
            text: ids if self.rows is None else self.rows[ids]
            for text, ids in zip(distinct, encoded, strict=True)
        }


def load_tokenizers(model: LanguageModel) -> dict[str, ModelTokenizer]:
    """Return the tokenizers of a model by name.

    A vocabulary without some tokens of the original one has no embeddings for them: "adapted" only.
    A model with new embeddings or modules but no new token tokenizes as before: "base" only.
    """
    before, known = open_base_model(model), model.vocabulary.ids
    tokens = before.vocabulary.tokens if before else ()
    if before is None or set(tokens) == set(known):
        return {BASE: _cut(BASE, model, None)}
    adapted = {ADAPTED: _cut(ADAPTED, model, None)}
    if any(token not in known for token in tokens):
        return adapted
    rows = np.array([known[token] for token in tokens], dtype=np.int32)
    return {BASE: _cut(BASE, before, rows), **adapted}


def _cut(name: str, model: LanguageModel, rows: Ids | None) -> ModelTokenizer:
    if lacking := model.vocabulary.list_missing("cls", "sep", "pad"):
        raise InputError(
            f"{model.path}: its tokenizer has no {lacking[0]}.", "Give a BERT-type model."
        )
    specials = model.vocabulary.role_ids
    if rows is not None:
        specials = {role: int(rows[i]) for role, i in specials.items()}
    return ModelTokenizer(name, model.fast_tokenizer, specials, rows)


@dataclass(frozen=True, eq=False)
class View:
    """A part of an example under one tokenizer: ids with special tokens, and the position where a
    second text begins (0: none).

    The logits at `places` are used: for the `rows` of the logits of example `owner`.
    """

    owner: int
    ids: Ids
    places: Ids
    rows: Ids
    second: int = 0


@dataclass(frozen=True, eq=False)
class Encoded:
    """Examples as views under every tokenizer; for training, the views of all tokenizers are of the
    same parts.

    sizes: number of rows of each example's logits. notes: numbers of divided and truncated texts.
    mean: whether several logits for one row are averaged; otherwise the highest is used.
    """

    views: Mapping[str, tuple[View, ...]]
    sizes: tuple[int, ...]
    notes: Mapping[str, int] = field(default_factory=dict)
    mean: bool = False

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def parts(self) -> tuple[View, ...]:
        """The views under the first tokenizer."""
        return next(iter(self.views.values()))


def encode_words(
    sentences: Sequence[Sentence],
    tokenizers: Mapping[str, ModelTokenizer],
    settings: EncodingSettings,
) -> Encoded:
    """Encode tagged words in chunks, with a row of logits for each word, taken at its first
    wordpiece.
    """
    room, notes = settings.length - SPECIALS, Counter[str]()
    words = [word for sentence in sentences for word in sentence.words]
    known = {name: _fitted(tokenizer, words, room, notes) for name, tokenizer in tokenizers.items()}
    views: dict[str, list[View]] = {name: [] for name in tokenizers}
    for number, sentence in enumerate(sentences):
        pieces = {name: [own[word] for word in sentence.words] for name, own in known.items()}
        sizes = np.array([[len(ids) for ids in own] for own in pieces.values()]).max(
            axis=0, initial=0
        )
        bounds = list(_bounds(sentence, sizes, settings.words, room))
        notes[DIVIDED] += len(bounds) > 1
        for start, end in bounds:
            for name, tokenizer in tokenizers.items():
                views[name].append(_view(tokenizer, number, pieces[name][start:end], start))
    counted = {what: count for what, count in notes.items() if count}
    return Encoded(
        {name: tuple(own) for name, own in views.items()},
        tuple(len(s.words) for s in sentences),
        counted,
    )


def encode_texts(
    texts: Sequence[Text], tokenizers: Mapping[str, ModelTokenizer], settings: EncodingSettings
) -> Encoded:
    """Encode texts and pairs, with one row of logits each, taken at [CLS].

    A text that is too long under any tokenizer is halved between words until every part fits under
    all of them, and the logits of its parts are averaged; of a pair, the end of the longer text is
    cut off.
    """
    known = {
        name: tokenizer.ids(part for text in texts for part in (text.text, text.pair))
        for name, tokenizer in tokenizers.items()
    }
    views: dict[str, list[View]] = {name: [] for name in tokenizers}
    notes = Counter[str]()
    for number, text in enumerate(texts):
        long = any(
            _length(own[text.text], own[text.pair]) > settings.length for own in known.values()
        )
        notes[CUT_OFF if text.pair else IN_PARTS] += long
        parts = (
            _parts(number, text.text, tokenizers, settings.length - SPECIALS, notes)
            if long and not text.pair
            else None
        )
        for name, tokenizer in tokenizers.items():
            own = known[name]
            views[name] += (
                parts[name]
                if parts
                else [_pair(tokenizer, number, own[text.text], own[text.pair], settings.length)]
            )
    counted = {what: count for what, count in notes.items() if count}
    return Encoded(
        {name: tuple(own) for name, own in views.items()}, (1,) * len(texts), counted, mean=True
    )


def _parts(
    number: int, text: str, tokenizers: Mapping[str, ModelTokenizer], room: int, notes: Counter[str]
) -> dict[str, list[View]]:
    """Divide a text that is too long into parts that are the same under every tokenizer."""
    words = text.split()
    pieces = {
        name: [own[word] for word in words]
        for name, own in ((n, _fitted(c, words, room, notes)) for n, c in tokenizers.items())
    }
    sizes = np.array([[len(ids) for ids in own] for own in pieces.values()]).max(axis=0, initial=0)
    bounds = list(_halved(0, len(words), sizes, set(), room))
    nothing, first = np.zeros(0, np.int32), np.zeros(1, np.int32)
    return {
        name: [
            joined(
                tokenizer, number, np.concatenate(pieces[name][start:end]), nothing, first, first
            )
            for start, end in bounds
        ]
        for name, tokenizer in tokenizers.items()
    }


def _fitted(
    tokenizer: ModelTokenizer, words: Sequence[str], room: int, notes: Counter[str]
) -> dict[str, Ids]:
    """Tokenize every word into at least one wordpiece and at most `room`."""
    known = tokenizer.ids(words)
    unknown = tokenizer.specials.get("unk", tokenizer.specials["pad"])
    occurrences = Counter(words)
    for word, ids in known.items():
        if not len(ids):
            known[word] = np.array([unknown], dtype=np.int32)
            notes[NO_PIECES] += occurrences[word]
        elif len(ids) > room:
            known[word] = ids[:room]
            notes[LONG_WORDS] += occurrences[word]
    return known


def _bounds(
    sentence: Sentence, sizes: NDArray[Any], limit: int, room: int
) -> Iterator[tuple[int, int]]:
    """Divide a sentence into chunks that fit under every tokenizer and, if possible, divide no
    entity.
    """
    spans = (
        [(span.start, span.end) for span in spans_of(sentence.tags)]
        if sentence.tags is not None
        else []
    )
    inside = {place for start, end in spans for place in range(start + 1, end)}
    for start, end in chunk_bounds(len(sentence.words), spans, limit):
        yield from _halved(start, end, sizes, inside, room)


def _halved(
    start: int, end: int, sizes: NDArray[Any], inside: set[int], room: int
) -> Iterator[tuple[int, int]]:
    """Halve a chunk until each part fits; the middle is moved out of an entity if possible."""
    if end - start <= 1 or int(sizes[start:end].sum()) <= room:
        yield start, end
        return
    middle = (start + end) // 2
    free = [place for place in range(start + 1, end) if place not in inside]
    middle = min(free, key=lambda place: abs(place - middle)) if free else middle
    yield from _halved(start, middle, sizes, inside, room)
    yield from _halved(middle, end, sizes, inside, room)


def _view(tokenizer: ModelTokenizer, owner: int, pieces: Sequence[Ids], first: int) -> View:
    """Build the view of words, the first of which is row `first`."""
    ids = np.concatenate(
        [[tokenizer.specials["cls"]], *pieces, [tokenizer.specials["sep"]]]
    ).astype(np.int32)
    places = 1 + np.cumsum([0, *map(len, pieces)])[: len(pieces)]
    return View(
        owner, ids, places.astype(np.int32), np.arange(first, first + len(pieces), dtype=np.int32)
    )


def _length(first: Ids, second: Ids) -> int:
    """Count the wordpieces of a text or pair, special tokens included."""
    return len(first) + len(second) + SPECIALS + bool(len(second))


def _pair(tokenizer: ModelTokenizer, owner: int, first: Ids, second: Ids, length: int) -> View:
    """Build the view of a text or a pair; one that is too long loses its end, the longer text of a
    pair first.
    """
    room = length - SPECIALS - bool(len(second))
    kept = min(len(first), max(room - len(second), room - room // 2 if len(second) else room))
    return joined(
        tokenizer,
        owner,
        first[:kept],
        second[: room - kept],
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
    )


def joined(
    tokenizer: ModelTokenizer, owner: int, first: Ids, second: Ids, places: Ids, rows: Ids
) -> View:
    """Build the view [CLS] first [SEP], or [CLS] first [SEP] second [SEP]."""
    cls, sep = ([tokenizer.specials[name]] for name in ("cls", "sep"))
    ids = np.concatenate([cls, first, sep, *([second, sep] if len(second) else [])]).astype(
        np.int32
    )
    return View(owner, ids, places, rows, len(first) + SPECIALS if len(second) else 0)
