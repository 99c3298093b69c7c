"""Encoding of examples under each tokenizer of a model: wordpiece ids, and the positions whose
logits are used.

An adapted model has two tokenizers: the one in its folder ("adapted"), and the one from before its
adaptation ("base"); any other model has "base" only. An example is divided into the same parts
under both, so that their logits have the same rows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.models.adapted_model import open_base_model
from vocadapt.models.language_model import LanguageModel
from vocadapt.settings import CheckedSettings, setting
from vocadapt.text.tokenization import encode_batch
from vocadapt.training.tasks.examples import Sentence, Text
from vocadapt.training.tasks.tags import decode_spans

Ids = NDArray[np.int32]
NOTHING, AT_START = np.zeros(0, np.int32), np.zeros(1, np.int32)
BASE, ADAPTED = "base", "adapted"
SPECIALS = 2  # [CLS] … [SEP]

DIVIDED = "sentences divided into chunks"
LONG_WORDS = "words longer than the window, read up to its end"
NO_WORDPIECES = "words without a single piece, read as unknown"
IN_SEVERAL_PARTS = "texts longer than the window, read in parts whose outputs are averaged"
TRUNCATED = "pairs of texts longer than the window, read up to its end"
COUNTED_IN_EXAMPLES = (
    DIVIDED,
    IN_SEVERAL_PARTS,
    TRUNCATED,
)  # what is counted in examples, not in words
NO_BASE = "tokenizers left out: the model has no rows for the tokens of its original vocabulary"


@dataclass(frozen=True)
class EncodingSettings(CheckedSettings):
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
        encoded = [np.array(encoding.ids, dtype=np.int32) for encoding in found]
        if self.rows is not None:
            encoded = [self.rows[ids] for ids in encoded]
        return dict(zip(distinct, encoded, strict=True))


def load_tokenizers(model: LanguageModel) -> dict[str, ModelTokenizer]:
    """Return the tokenizers of a model by name.

    A vocabulary without some tokens of the original one has no embeddings for them: "adapted" only.
    A model with new embeddings or modules but no new token tokenizes as before: "base" only.
    """
    # 1. The model tokenizes as before: it was not adapted, or got no new token.
    before, known = open_base_model(model), model.vocabulary.ids
    if before is None or set(before.vocabulary.tokens) == set(known):
        return {BASE: _build_tokenizer(BASE, model, None)}

    # 2. It lacks tokens of its original vocabulary.
    adapted = {ADAPTED: _build_tokenizer(ADAPTED, model, None)}
    tokens = before.vocabulary.tokens
    if any(token not in known for token in tokens):
        return adapted

    # 3. It has all of them, under new ids.
    rows = np.array([known[token] for token in tokens], dtype=np.int32)
    return {BASE: _build_tokenizer(BASE, before, rows), **adapted}


def _build_tokenizer(name: str, model: LanguageModel, rows: Ids | None) -> ModelTokenizer:
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
class EncodedExamples:
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
) -> EncodedExamples:
    """Encode tagged words in chunks, with a row of logits for each word, taken at its first
    wordpiece.

    1. Tokenize each distinct word under every tokenizer.
    2. Divide each sentence into chunks that fit under every tokenizer.
    3. Encode each chunk under every tokenizer, so that the same chunk has the same number.

    Example: "aspirin helps" as [CLS] as ##pirin helps [SEP]: logits are taken at positions 1 and 3.
    """
    # 1. Wordpieces of the words.
    room, notes = settings.length - SPECIALS, Counter[str]()
    words = list(chain.from_iterable(sentence.words for sentence in sentences))
    known = {
        name: _tokenize_words(tokenizer, words, room, notes)
        for name, tokenizer in tokenizers.items()
    }
    views: dict[str, list[View]] = {name: [] for name in tokenizers}
    for number, sentence in enumerate(sentences):
        # 2. Chunks.
        pieces = {name: [own[word] for word in sentence.words] for name, own in known.items()}
        bounds = list(_divide(sentence, _measure_words(pieces), settings.words, room))
        notes[DIVIDED] += len(bounds) > 1

        # 3. Views.
        for start, end in bounds:
            for name, tokenizer in tokenizers.items():
                chunk = pieces[name][start:end]
                places = 1 + np.cumsum([0, *map(len, chunk)], dtype=np.int32)[: len(chunk)]
                rows = np.arange(start, end, dtype=np.int32)
                ids = np.concatenate([NOTHING, *chunk])
                views[name].append(build_view(tokenizer, number, ids, places=places, rows=rows))
    return _collect(views, tuple(len(sentence.words) for sentence in sentences), notes)


def _measure_words(pieces: Mapping[str, Sequence[Ids]]) -> NDArray[Any]:
    """Return the number of wordpieces of each word (words,) under the tokenizer that needs most."""
    sizes = [list(map(len, own)) for own in pieces.values()]
    return np.asarray(np.array(sizes).max(axis=0, initial=0))


def _collect(
    views: Mapping[str, Sequence[View]],
    sizes: tuple[int, ...],
    notes: Counter[str],
    mean: bool = False,
) -> EncodedExamples:
    counted = {what: count for what, count in notes.items() if count}
    return EncodedExamples({name: tuple(own) for name, own in views.items()}, sizes, counted, mean)


def encode_texts(
    texts: Sequence[Text], tokenizers: Mapping[str, ModelTokenizer], settings: EncodingSettings
) -> EncodedExamples:
    """Encode texts and pairs, with one row of logits each, taken at [CLS].

    A text that is too long under any tokenizer is halved between words until every part fits under
    all of them, and the logits of its parts are averaged; a pair is truncated at the end of its
    longer text.
    """
    both = [part for text in texts for part in (text.text, text.pair)]
    known = {name: tokenizer.ids(both) for name, tokenizer in tokenizers.items()}
    views: dict[str, list[View]] = {name: [] for name in tokenizers}
    notes = Counter[str]()
    for number, text in enumerate(texts):
        # [CLS] text [SEP], and a pair with its own [SEP].
        lengths = [
            len(own[text.text]) + len(own[text.pair]) + SPECIALS + bool(len(own[text.pair]))
            for own in known.values()
        ]
        is_long = max(lengths) > settings.length
        if is_long and not text.pair:
            notes[IN_SEVERAL_PARTS] += 1
            parts = _encode_parts(number, text.text, tokenizers, settings.length, notes)
            for name, own_parts in parts.items():
                views[name] += own_parts
            continue
        notes[TRUNCATED] += is_long
        for name, tokenizer in tokenizers.items():
            first, second = known[name][text.text], known[name][text.pair]
            views[name].append(_truncate_pair(tokenizer, number, first, second, settings.length))
    return _collect(views, (1,) * len(texts), notes, mean=True)


def _encode_parts(
    number: int,
    text: str,
    tokenizers: Mapping[str, ModelTokenizer],
    length: int,
    notes: Counter[str],
) -> dict[str, list[View]]:
    """Divide a text that is too long into parts that are the same under every tokenizer."""
    # 1. The words and their wordpieces under every tokenizer.
    words, pieces = text.split(), dict[str, list[Ids]]()
    for name, tokenizer in tokenizers.items():
        known = _tokenize_words(tokenizer, words, length - SPECIALS, notes)
        pieces[name] = [known[word] for word in words]
    # 2. Halve the text until every part fits under all of them.
    sizes = _measure_words(pieces)
    bounds = list(_halve(0, len(words), sizes, set(), length - SPECIALS))
    # 3. A view of each part.
    views: dict[str, list[View]] = {name: [] for name in tokenizers}
    for name, tokenizer in tokenizers.items():
        for start, end in bounds:
            ids = np.concatenate(pieces[name][start:end])
            views[name].append(build_view(tokenizer, number, ids))
    return views


def _tokenize_words(
    tokenizer: ModelTokenizer, words: Sequence[str], room: int, notes: Counter[str]
) -> dict[str, Ids]:
    """Tokenize every word into at least one wordpiece and at most `room`."""
    known = tokenizer.ids(words)
    unknown = tokenizer.specials.get("unk", tokenizer.specials["pad"])
    # Distinct words are tokenized, and the notes count their occurrences.
    occurrences = Counter(words)
    for word, ids in known.items():
        if not len(ids):
            known[word] = np.array([unknown], dtype=np.int32)
            notes[NO_WORDPIECES] += occurrences[word]
        elif len(ids) > room:
            known[word] = ids[:room]
            notes[LONG_WORDS] += occurrences[word]
    return known


def _divide(
    sentence: Sentence, sizes: NDArray[Any], limit: int, room: int
) -> Iterator[tuple[int, int]]:
    """Divide a sentence into chunks that fit under every tokenizer and, if possible, divide no
    entity.
    """
    spans: list[tuple[int, int]] = []
    if sentence.tags is not None:
        spans = [(span.start, span.end) for span in decode_spans(sentence.tags)]
    inside: set[int] = set()  # boundaries that would divide an entity
    for start, end in spans:
        inside.update(range(start + 1, end))
    for start, end in divide_into_chunks(len(sentence.words), spans, limit):
        yield from _halve(start, end, sizes, inside, room)


def _halve(
    start: int, end: int, sizes: NDArray[Any], inside: set[int], room: int
) -> Iterator[tuple[int, int]]:
    """Halve a chunk until each part fits; the middle is moved out of an entity if possible."""
    if end - start <= 1 or int(sizes[start:end].sum()) <= room:
        yield start, end
        return
    middle = (start + end) // 2
    free = [place for place in range(start + 1, end) if place not in inside]
    if free:
        middle = min(free, key=lambda place: abs(place - middle))
    yield from _halve(start, middle, sizes, inside, room)
    yield from _halve(middle, end, sizes, inside, room)


def _truncate_pair(
    tokenizer: ModelTokenizer, owner: int, first: Ids, second: Ids, length: int
) -> View:
    """Build the view of a text or a pair; one that is too long is truncated, the longer text of a
    pair first.
    """
    room = length - SPECIALS - bool(len(second))
    for_first = room
    if len(second):
        for_first = max(room - len(second), room - room // 2)
    first = first[:for_first]
    return build_view(tokenizer, owner, first, second[: room - len(first)])


def build_view(
    tokenizer: ModelTokenizer,
    owner: int,
    first: Ids,
    second: Ids = NOTHING,
    places: Ids = AT_START,
    rows: Ids = AT_START,
) -> View:
    """Build the view [CLS] first [SEP], or [CLS] first [SEP] second [SEP].

    By default with one row of logits, taken at [CLS].
    """
    cls, sep = [tokenizer.specials["cls"]], [tokenizer.specials["sep"]]
    if not len(second):
        return View(owner, np.concatenate([cls, first, sep]).astype(np.int32), places, rows)
    ids = np.concatenate([cls, first, sep, second, sep]).astype(np.int32)
    return View(owner, ids, places, rows, len(first) + SPECIALS)


def divide_into_chunks(
    words: int, spans: Iterable[tuple[int, int]], limit: int
) -> tuple[tuple[int, int], ...]:
    """Divide a sentence of `words` words into chunks as long as possible, none ending inside a
    span.

    A span longer than the limit is a chunk of its own. The chunks together are the sentence.
    `divide_into_chunks(7, [(2, 4)], 3)` → (0, 2), (2, 5), (5, 7).
    """
    if not limit or words <= limit:
        return ((0, words),)
    # 1. The boundaries between words at which no span is divided.
    cut_free = [True] * (words + 1)
    for start, end in spans:
        cut_free[start + 1 : end] = [False] * (end - start - 1)
    # 2. The longest chunk within the limit; if a span is longer than that, the shortest one beyond.
    bounds, start = [], 0
    while start < words:
        last = min(start + limit, words)
        fitting = (end for end in range(last, start, -1) if cut_free[end])
        longer = (end for end in range(last + 1, words + 1) if cut_free[end])
        end = next(fitting, None) or next(longer)
        bounds.append((start, end))
        start = end
    return tuple(bounds)
