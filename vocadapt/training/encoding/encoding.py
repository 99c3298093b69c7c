"""Encoding of examples under each tokenizer of a model (`model_tokenizers`): token ids, and the
positions whose logits are used.

An example is divided into the same parts under every tokenizer, so their logits have the same rows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.settings import CheckedSettings, setting
from vocadapt.training.encoding.model_tokenizers import ENDS, Ids, ModelTokenizer
from vocadapt.training.examples.examples import Sentence, Text
from vocadapt.training.examples.tags import decode_spans

NOTHING = np.zeros(0, np.int32)
AT_START = np.zeros(1, np.int32)

DIVIDED = "sentences divided into chunks"
LONG_WORDS = "words longer than the window, truncated"
NO_WORDPIECES = "words without a wordpiece, encoded as unknown"
IN_SEVERAL_PARTS = "texts longer than the window, divided into parts whose logits are averaged"
TRUNCATED = "pairs of texts longer than the window, truncated"
LONG_TEXTS = "texts longer than the window, truncated"
# The notes that count examples; the others count words.
COUNTED_IN_EXAMPLES = (DIVIDED, IN_SEVERAL_PARTS, TRUNCATED, LONG_TEXTS)
NO_BASE = "tokenizers not used: the model lacks embeddings for tokens of its original vocabulary"


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
class View:
    """A part of an example under one tokenizer.

    owner: number of the example. ids: wordpiece ids with special tokens. places: positions whose
    logits are used. rows: their rows in the logits of the example. second: position at which a
    second text begins, or 0. apart: whether that text is a sequence of its own.
    """

    owner: int
    ids: Ids
    places: Ids
    rows: Ids
    second: int = 0
    apart: bool = False

    @property
    def sequences(self) -> tuple[Ids, ...]:
        """The sequences that the network reads: one, or two if the second text is one of its own."""
        if self.apart:
            return self.ids[: self.second], self.ids[self.second :]
        return (self.ids,)


@dataclass(frozen=True, eq=False)
class EncodedExamples:
    """Examples as views under every tokenizer.

    For training, the views are of the same parts under every tokenizer. sizes: number of rows of
    each example's logits. notes: numbers of divided and truncated texts. mean: whether to average
    several logits for one row, instead of using the highest.
    """

    views: Mapping[str, tuple[View, ...]]
    sizes: tuple[int, ...]
    notes: Mapping[str, int] = field(default_factory=dict)
    mean: bool = False

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def chunks(self) -> tuple[View, ...]:
        """The views under the first tokenizer."""
        return next(iter(self.views.values()))


def encode_words(
    sentences: Sequence[Sentence],
    tokenizers: Mapping[str, ModelTokenizer],
    settings: EncodingSettings,
) -> EncodedExamples:
    """Encode tagged words in chunks; the logits of a word are those at its first wordpiece.

    1. Tokenize each distinct word under every tokenizer.
    2. Divide each sentence into chunks that fit under every tokenizer.
    3. Encode each chunk under every tokenizer; a chunk has the same index under all.

    Example: "aspirin helps" is encoded as [CLS] as ##pirin helps [SEP], and the logits at positions
    1 and 3 are used.
    """
    # 1. Wordpieces of the words.
    room = settings.length - ENDS
    notes = Counter[str]()
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
    """Return the largest number of wordpieces of each word under any tokenizer: (words,) int64."""
    sizes = [list(map(len, of_words)) for of_words in pieces.values()]
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
    """Encode texts and pairs, with one row of logits each, at [CLS].

    A text that is too long under any tokenizer is halved between words until every part fits under
    all of them, and the logits of its parts are averaged. A pair is truncated, the longer text
    first.
    """
    both = [part for text in texts for part in (text.text, text.pair)]
    known = {name: tokenizer.ids(both) for name, tokenizer in tokenizers.items()}
    views: dict[str, list[View]] = {name: [] for name in tokenizers}
    notes = Counter[str]()
    for number, text in enumerate(texts):
        lengths = [
            _measure_pair(tokenizers[name], own[text.text], own[text.pair])
            for name, own in known.items()
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
            first = known[name][text.text]
            second = known[name][text.pair]
            views[name].append(_truncate_pair(tokenizer, number, first, second, settings.length))
    return _collect(views, (1,) * len(texts), notes, mean=True)


def encode_apart(
    texts: Sequence[Text], tokenizers: Mapping[str, ModelTokenizer], settings: EncodingSettings
) -> EncodedExamples:
    """Encode each text, and the second text of a pair, as sequences of their own, for embeddings.

    The embedding of a text is row 0 of its example, that of the second text row 1. Texts longer
    than the window are truncated.
    """
    both = [part for text in texts for part in (text.text, text.pair)]
    known = {name: tokenizer.ids(both) for name, tokenizer in tokenizers.items()}
    views: dict[str, list[View]] = {name: [] for name in tokenizers}
    room = settings.length - ENDS
    notes = Counter[str]()
    for number, text in enumerate(texts):
        notes[LONG_TEXTS] += any(
            len(own[part]) > room for own in known.values() for part in (text.text, text.pair)
        )
        for name, tokenizer in tokenizers.items():
            view = build_view(tokenizer, number, known[name][text.text][:room])
            if text.pair:
                other = build_view(tokenizer, number, known[name][text.pair][:room])
                second = len(view.ids)
                places = np.array([0, second], dtype=np.int32)
                rows = np.array([0, 1], dtype=np.int32)
                ids = np.concatenate([view.ids, other.ids])
                view = View(number, ids, places, rows, second, apart=True)
            views[name].append(view)
    return _collect(views, tuple(1 + bool(text.pair) for text in texts), notes)


def _encode_parts(
    number: int,
    text: str,
    tokenizers: Mapping[str, ModelTokenizer],
    length: int,
    notes: Counter[str],
) -> dict[str, list[View]]:
    """Encode a long text in parts, which are the same under every tokenizer."""
    # 1. The words and their wordpieces under every tokenizer.
    words = text.split()
    pieces = dict[str, list[Ids]]()
    for name, tokenizer in tokenizers.items():
        known = _tokenize_words(tokenizer, words, length - ENDS, notes)
        pieces[name] = [known[word] for word in words]
    # 2. Halve the text until every part fits under all of them.
    sizes = _measure_words(pieces)
    bounds = list(_halve(0, len(words), sizes, set(), length - ENDS))
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
    known = tokenizer.word_ids(words)
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
    """Divide a sentence into chunks that fit every tokenizer, between entities if possible."""
    spans: list[tuple[int, int]] = []
    if sentence.tags is not None:
        spans = [(span.start, span.end) for span in decode_spans(sentence.tags)]
    inside: set[int] = set()  # word boundaries inside entities
    for start, end in spans:
        inside.update(range(start + 1, end))
    for start, end in divide_into_chunks(len(sentence.words), spans, limit):
        yield from _halve(start, end, sizes, inside, room)


def _halve(
    start: int, end: int, sizes: NDArray[Any], inside: set[int], room: int
) -> Iterator[tuple[int, int]]:
    """Halve a chunk until each part fits, at the boundary nearest to the middle that is outside
    entities, if there is one.
    """
    if end - start <= 1 or int(sizes[start:end].sum()) <= room:
        yield start, end
        return
    middle = (start + end) // 2
    outside = [boundary for boundary in range(start + 1, end) if boundary not in inside]
    if outside:
        middle = min(outside, key=lambda boundary: abs(boundary - middle))
    yield from _halve(start, middle, sizes, inside, room)
    yield from _halve(middle, end, sizes, inside, room)


def _measure_pair(tokenizer: ModelTokenizer, first: Ids, second: Ids) -> int:
    """Return the number of tokens of a text or a pair, with special tokens and separators.

    first, second: (n,) int32, ids of the two texts; an empty second text means that there is none.
    """
    return len(first) + len(second) + ENDS + tokenizer.n_between * bool(len(second))


def _truncate_pair(
    tokenizer: ModelTokenizer, owner: int, first: Ids, second: Ids, length: int
) -> View:
    """Build the view of a text or pair, truncated to `length`, the longer text of a pair first."""
    room = length - ENDS - tokenizer.n_between * bool(len(second))
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
    """Build the view [CLS] first [SEP], or [CLS] first [SEP] second [SEP], with the model's special
    tokens and its number of separators between two texts.

    By default it has one row of logits, at [CLS].
    """
    cls = [tokenizer.specials["cls"]]
    sep = [tokenizer.specials["sep"]]
    if not len(second):
        return View(owner, np.concatenate([cls, first, sep]).astype(np.int32), places, rows)
    ids = np.concatenate([cls, first, sep * tokenizer.n_between, second, sep]).astype(np.int32)
    return View(owner, ids, places, rows, 1 + len(first) + tokenizer.n_between)


def divide_into_chunks(
    words: int, spans: Iterable[tuple[int, int]], limit: int
) -> tuple[tuple[int, int], ...]:
    """Divide a sentence of `words` words into the longest possible chunks of at most `limit` words.

    No chunk ends inside a span; a span longer than the limit is a chunk of its own.
    `divide_into_chunks(7, [(2, 4)], 3)` → (0, 2), (2, 5), (5, 7).
    """
    if not limit or words <= limit:
        return ((0, words),)
    # 1. The word boundaries that are outside spans.
    is_outside = [True] * (words + 1)
    for start, end in spans:
        is_outside[start + 1 : end] = [False] * (end - start - 1)
    # 2. The longest chunk within the limit, or the shortest one beyond it if a span is longer.
    bounds, start = [], 0
    while start < words:
        last = min(start + limit, words)
        fitting = (end for end in range(last, start, -1) if is_outside[end])
        longer = (end for end in range(last + 1, words + 1) if is_outside[end])
        end = next(fitting, None) or next(longer)
        bounds.append((start, end))
        start = end
    return tuple(bounds)
