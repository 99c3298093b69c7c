"""Select the occurrences of words or tokens for which contextual vectors are computed, and the
windows of text around them.

The text is a file of pre-tokens (`write_sentences`), one context per line. Each distinct pre-token
is tokenized only once. In WordPiece models, pre-tokens are words; in others, a pre-token contains
one or several words, and the pieces of a word are those that overlap with it: in ▁(fever), with the
pieces ▁( fe ver ), the word fever has the pieces fe and ver.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.settings import MAX_SEED, CheckedSettings, setting
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import Vocabulary

UNITS = {
    "words": "whole words: the mean of their pieces",
    "tokens": "wordpieces of the text",
}
LAST = -1


@dataclass(frozen=True)
class ContextualSettings(CheckedSettings):
    """Settings of contextual vectors; the length of a window includes the special tokens at its
    ends.

    Layer 0 is the embedding output: the normalized sum of token, position and type embedding.
    """

    layer: int = setting(
        LAST,
        "layer to read. 0: the embedding output, with positions; 1: the output of the first layer;"
        " and so on",
        low=LAST,
        high=1_000,
        words={"last": LAST},
    )
    occurrences: int = setting(
        20,
        "maximum number of occurrences per word to average over, drawn by the seed",
        low=1,
        high=1_000_000,
    )
    length: int = setting(
        128,
        "wordpieces of a window; longer lines are divided",
        low=4,
        high=32_768,
        label="Window length",
    )
    batch: int = setting(
        32, "windows per forward pass", low=1, high=65_536, label="Batch size", flag="--batch-size"
    )
    unit: str = setting("words", "unit of the vectors", choices=UNITS, flag="--token-unit")
    min_count: int = setting(
        5, "minimum number of occurrences: rarer words get no vector", low=1, label="Min count"
    )
    first: int = setting(
        0, "number of most frequent words to keep", label="First words", empty="all"
    )
    seed: int = setting(1, "random seed of the sampled occurrences", high=MAX_SEED)


@dataclass(frozen=True, eq=False)
class VectorTargets:
    """The words or tokens that get a vector, most frequent first.

    counts: (targets,) int64, their counts in the text.
    left_out: number of words or tokens that get no vector, by reason.
    """

    names: tuple[str, ...]
    counts: NDArray[np.int64]
    left_out: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each target."""
        return {name: i for i, name in enumerate(self.names)}

    def taken(self, occurrences: int) -> NDArray[np.int64]:
        """Return the number of occurrences of each target that are used, (targets,) int64."""
        return np.minimum(self.counts, occurrences)


@dataclass(frozen=True, eq=False)
class OccurrenceWindow:
    """Ids of a part of a line between special tokens, and the targets in it.

    The vector at each of `places` is added to the target in `targets` with the weight in `weights`:
    1 over the number of pieces of the word.
    """

    ids: list[int]
    places: list[int]
    targets: list[int]
    weights: list[float]


def find_targets(
    counts: Mapping[str, int],
    vocabulary: Vocabulary,
    settings: ContextualSettings,
    wanted: Sequence[str] | None = None,
    splitter: Splitter | None = None,
) -> VectorTargets:
    """Choose the words or tokens of a text that get a vector.

    counts: pre-tokens of the text with their counts. wanted: consider only these words, at any
    count. splitter: splits pre-tokens into words; None if pre-tokens are words.
    Words that the vocabulary cannot spell, and words in pre-tokens with more pieces than fit into a
    window, get no vector. Raises InputError if no word is left.
    """
    left_out = Counter[str]()
    unit_counts, usable = _count_units(counts, vocabulary, settings, splitter)
    # 1. Select the candidates: those that are frequent enough, or wanted.
    if wanted is None:
        candidates = {name: n for name, n in unit_counts.items() if n >= settings.min_count}
        n_rare = len(unit_counts) - len(candidates)
        left_out[f"occurs less than {settings.min_count} times"] = n_rare
    else:
        candidates = {name: unit_counts[name] for name in wanted if name in unit_counts}
        left_out["not in the text"] = len(set(wanted)) - len(candidates)
    # 2. Keep those that the vocabulary can spell, most frequent first.
    if usable is None:
        spellable = {
            name: count
            for name, count in candidates.items()
            if _can_be_read(vocabulary.tokenize(name), vocabulary, settings)
        }
    else:
        spellable = {name: usable[name] for name in candidates if name in usable}
    left_out["cannot be spelled by the model, or is too long"] = len(candidates) - len(spellable)
    ordered = sorted(spellable, key=lambda name: (-spellable[name], name))
    if settings.first:
        left_out[f"not among the first {settings.first}"] = len(ordered[settings.first :])
        ordered = ordered[: settings.first]
    # 3. Report the reasons why others get no vector.
    reasons = {reason: number for reason, number in left_out.items() if number}
    if not ordered:
        listed = "; ".join(f"{number:,}: {reason}" for reason, number in reasons.items())
        raise InputError(
            f"No {settings.unit[:-1]} of this text gets a vector"
            f" ({listed or 'the text has none'}).",
            "Give more text, or choose other words.",
            code="no-targets",
        )
    return VectorTargets(
        tuple(ordered), np.array([spellable[name] for name in ordered], dtype=np.int64), reasons
    )


def find_ends(vocabulary: Vocabulary) -> tuple[list[int], list[int]]:
    """Return the ids of the special tokens at the start and the end of a text; [] for a decoder
    that has none there.
    """
    ids = vocabulary.role_ids
    start = [ids["cls"]] if "cls" in ids else []
    end = [ids["sep"]] if "sep" in ids else []
    return start, end


def draw_occurrences(
    targets: VectorTargets, settings: ContextualSettings
) -> list[frozenset[int] | None]:
    """Draw the occurrences of each target, numbered from 0; None if all of them are used."""
    rng = np.random.default_rng(settings.seed)
    n = settings.occurrences
    drawn: list[frozenset[int] | None] = []
    for count in targets.counts.tolist():
        if count <= n:
            drawn.append(None)
        else:
            numbers = rng.choice(count, n, replace=False, shuffle=False)
            drawn.append(frozenset(numbers.tolist()))
    return drawn


def iterate_windows(
    sentences: Path,
    vocabulary: Vocabulary,
    targets: VectorTargets,
    settings: ContextualSettings,
    splitter: Splitter | None = None,
) -> Iterator[tuple[OccurrenceWindow, int]]:
    """Yield the windows with a drawn occurrence, in the order of the text, each with the number of
    bytes of the file read so far.

    A window always ends after a pre-token; one that is longer than a window becomes the unknown
    token, or is truncated if the vocabulary has none. splitter: as for `find_targets`.
    """
    reader = _Reader(vocabulary, targets, settings, splitter)
    n_bytes = 0
    with sentences.open("rb") as file:
        for line in file:
            n_bytes += len(line)
            for window in reader.windows(line.decode().rstrip("\n").split(" ")):
                yield window, n_bytes


class _Reader:
    """Split lines into windows, tokenize each distinct pre-token once, and count occurrences."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        targets: VectorTargets,
        settings: ContextualSettings,
        splitter: Splitter | None,
    ) -> None:
        self.vocabulary = vocabulary
        self.targets = targets
        self.settings = settings
        self.splitter = splitter
        self.start, self.end = find_ends(vocabulary)
        self.drawn = draw_occurrences(targets, settings)
        self.seen = [0] * len(targets.names)  # occurrences of each target so far
        self.look_up = cache(self._look_up)

    def windows(self, pretokens: list[str]) -> Iterator[OccurrenceWindow]:
        """Yield the windows of one line that contain a drawn occurrence."""
        windows = [OccurrenceWindow([*self.start], [], [], [])]
        for pretoken in pretokens:
            # 1. Start a new window if the pre-token does not fit; one id is reserved for the end.
            ids, spans = self.look_up(pretoken)
            if len(windows[-1].ids) + len(ids) > self.settings.length - 1:
                windows.append(OccurrenceWindow([*self.start], [], [], []))
            window = windows[-1]
            # 2. Record the drawn occurrences, with equal weights for the pieces of each.
            for target, first, n_pieces in spans:
                if self._is_drawn(target):
                    start = len(window.ids) + first
                    window.places.extend(range(start, start + n_pieces))
                    window.targets.extend([target] * n_pieces)
                    window.weights.extend([1 / n_pieces] * n_pieces)
            window.ids.extend(ids)
        # 3. Yield only windows with a drawn occurrence.
        for window in windows:
            if window.places:
                window.ids.extend(self.end)
                yield window

    def _look_up(self, pretoken: str) -> tuple[list[int], list[tuple[int, int, int]]]:
        """Return the ids of a pre-token's pieces, and the targets in it: (target, first piece,
        number of pieces). The targets are its words, or its pieces if the unit is `tokens`.
        """
        pieces = self.vocabulary.tokenize(pretoken) if pretoken else ()
        fits = _can_be_read(pieces, self.vocabulary, self.settings)
        if len(pieces) > self.settings.length - 2:
            pieces = pieces[: self.settings.length - 2]
            if self.vocabulary.unknown:
                pieces = (self.vocabulary.unknown,)
        spans: list[tuple[str, int, int]] = []
        if self.settings.unit == "tokens":
            spans = [(piece, i, 1) for i, piece in enumerate(pieces)]
        elif fits:
            spans = find_word_spans(pretoken, pieces, self.vocabulary, self.splitter)
        index = self.targets.index
        known = [(index[name], first, n) for name, first, n in spans if name in index]
        return [self.vocabulary.ids[piece] for piece in pieces], known

    def _is_drawn(self, target: int) -> bool:
        number = self.seen[target]
        chosen = self.drawn[target]
        self.seen[target] = number + 1
        return chosen is None or number in chosen


def find_word_spans(
    pretoken: str, pieces: Sequence[str], vocabulary: Vocabulary, splitter: Splitter | None
) -> list[tuple[str, int, int]]:
    """Return the words of a pre-token, each with its first piece and its number of pieces.

    1. A single word has all pieces, its mark included.
    2. Of several words, each has the pieces that overlap with its characters.

    Example: ▁(fever), pieces ▁( fe ver ) -> ("(", 0, 1), ("fever", 1, 2), (")", 3, 1).
    """
    # 1. A single word; also if the pieces do not spell the pre-token, so that they have no
    #    positions.
    words: Sequence[str] = (pretoken,)
    if splitter is not None:
        words = splitter.words_of(pretoken)
    if len(words) == 1 or "".join(pieces) != pretoken:
        return [(word, 0, len(pieces)) for word in words]

    # 2. Find the characters of each word, and the pieces that begin before its end and end after
    #    its start.
    ends = list(accumulate(map(len, pieces)))
    spans, offset = [], 0
    for word in words:
        spelled = vocabulary.spell(word, continues=True)
        start = pretoken.find(spelled, offset)
        if start < 0:
            continue
        offset = start + len(spelled)
        first = bisect_right(ends, start)
        last = bisect_left(ends, offset)
        spans.append((word, first, last - first + 1))
    return spans


def _count_units(
    counts: Mapping[str, int],
    vocabulary: Vocabulary,
    settings: ContextualSettings,
    splitter: Splitter | None,
) -> tuple[Mapping[str, int], Mapping[str, int] | None]:
    """Return the counts of the units of a text, and the counts of their occurrences in pre-tokens
    that fit into a window; None for the latter if the caller checks that.

    Units are words, or tokens; tokens of pre-tokens that do not fit into a window are not counted.
    """
    # 1. Pre-tokens that are words: the caller checks only the selected ones.
    is_word = splitter is None or splitter.outputs_words
    if settings.unit == "words" and is_word:
        return counts, None

    # 2. Words in pre-tokens: skip occurrences in pre-tokens that do not fit.
    if settings.unit == "words" and splitter is not None:
        usable = Counter[str]()
        for pretoken, count in counts.items():
            pieces = vocabulary.tokenize(pretoken)
            if _can_be_read(pieces, vocabulary, settings):
                for word, _, _ in find_word_spans(pretoken, pieces, vocabulary, splitter):
                    usable[word] += count
        return splitter.count_words(counts), usable

    # 3. Tokens.
    tokens = Counter[str]()
    for pretoken, count in counts.items():
        pieces = vocabulary.tokenize(pretoken)
        if len(pieces) <= settings.length - 2:
            for piece in pieces:
                tokens[piece] += count
    found = {token: count for token, count in tokens.items() if token not in vocabulary.special}
    return found, found


def _can_be_read(
    pieces: Sequence[str], vocabulary: Vocabulary, settings: ContextualSettings
) -> bool:
    return vocabulary.unknown not in pieces and 0 < len(pieces) <= settings.length - 2
