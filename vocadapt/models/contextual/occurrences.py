"""Select the occurrences of words or tokens for which contextual vectors are computed, and the
windows of text around them.

The text is a words file (`write_sentences`), one context per line. Each distinct word is tokenized
only once.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.settings import MAX_SEED, CheckedSettings, setting
from vocadapt.vocabulary.families import Vocabulary

UNITS = {
    "words": "whole words: the mean of their pieces",
    "tokens": "wordpieces of the text",
}
LAST = -1


@dataclass(frozen=True)
class ContextualSettings(CheckedSettings):
    """Settings of contextual vectors; the length of a window includes [CLS] and [SEP].

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
    """Wordpiece ids of a part of a line between [CLS] and [SEP], and the targets in it.

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
) -> VectorTargets:
    """Choose the words or tokens of a text that get a vector.

    counts: word counts of the text. wanted: consider only these words, at any count.
    Words that the vocabulary cannot spell, and words with more pieces than fit into a window, get
    no vector. Raises InputError if no word is left.
    """
    unit_counts, left_out = _count_units(counts, vocabulary, settings), Counter[str]()
    # 1. Select the candidates: those that are frequent enough, or wanted.
    if wanted is None:
        candidates = {name: n for name, n in unit_counts.items() if n >= settings.min_count}
        n_rare = len(unit_counts) - len(candidates)
        left_out[f"occurs less than {settings.min_count} times"] = n_rare
    else:
        candidates = {name: unit_counts[name] for name in wanted if name in unit_counts}
        left_out["not in the text"] = len(set(wanted)) - len(candidates)
    # 2. Keep those that the vocabulary can spell, most frequent first.
    spellable = {
        name: count
        for name, count in candidates.items()
        if settings.unit == "tokens" or _fits(name, vocabulary, settings)
    }
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
            f"No {settings.unit[:-1]} of this text gets a vector ({listed or 'the text has none'}).",
            "Give more text, or choose other words.",
        )
    return VectorTargets(
        tuple(ordered), np.array([spellable[name] for name in ordered], dtype=np.int64), reasons
    )


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
    sentences: Path, vocabulary: Vocabulary, targets: VectorTargets, settings: ContextualSettings
) -> Iterator[tuple[OccurrenceWindow, int]]:
    """Yield the windows with a drawn occurrence, in the order of the text, each with the number of
    bytes of the file read so far.

    A window always ends after a word; a word that is longer than a window becomes the unknown
    token. Raises InputError for a vocabulary without [CLS] and [SEP].
    """
    reader = _Reader(vocabulary, targets, settings)
    n_bytes = 0
    with sentences.open("rb") as file:
        for line in file:
            n_bytes += len(line)
            for window in reader.windows(line.decode().rstrip("\n").split(" ")):
                yield window, n_bytes


class _Reader:
    """Split lines into windows, tokenize each distinct word once, and count the occurrences."""

    def __init__(
        self, vocabulary: Vocabulary, targets: VectorTargets, settings: ContextualSettings
    ) -> None:
        lacking = vocabulary.list_missing("cls", "sep")
        if lacking:
            raise InputError(
                f"The vocabulary of this model has no {lacking[0]} token.",
                "Choose a BERT-type model.",
            )
        self.vocabulary, self.targets, self.settings = vocabulary, targets, settings
        self.start, self.end = vocabulary.role_ids["cls"], vocabulary.role_ids["sep"]
        self.drawn = draw_occurrences(targets, settings)
        self.seen = [0] * len(targets.names)  # occurrences of each target so far
        self.look_up = cache(self._look_up)

    def windows(self, words: list[str]) -> Iterator[OccurrenceWindow]:
        """Yield the windows of one line that contain a drawn occurrence."""
        windows = [OccurrenceWindow([self.start], [], [], [])]
        for word in words:
            # 1. Start a new window if the word does not fit; one id is reserved for [SEP].
            ids, spans = self.look_up(word)
            if len(windows[-1].ids) + len(ids) > self.settings.length - 1:
                windows.append(OccurrenceWindow([self.start], [], [], []))
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
                window.ids.append(self.end)
                yield window

    def _look_up(self, word: str) -> tuple[list[int], list[tuple[int, int, int]]]:
        """Return the ids of a word's pieces, and its targets: (target, first piece, number of
        pieces). The target is the whole word, or each of its pieces if the unit is `tokens`.
        """
        pieces = self.vocabulary.tokenize(word)
        if len(pieces) > self.settings.length - 2:
            pieces = (self.vocabulary.unknown,)
        spans = [(word, 0, len(pieces))]
        if self.settings.unit == "tokens":
            spans = [(piece, i, 1) for i, piece in enumerate(pieces)]
        index = self.targets.index
        known = [(index[name], first, n) for name, first, n in spans if name in index]
        return [self.vocabulary.ids[piece] for piece in pieces], known

    def _is_drawn(self, target: int) -> bool:
        """Return whether the next occurrence of a target is drawn."""
        number, chosen = self.seen[target], self.drawn[target]
        self.seen[target] = number + 1
        return chosen is None or number in chosen


def _count_units(
    counts: Mapping[str, int], vocabulary: Vocabulary, settings: ContextualSettings
) -> Mapping[str, int]:
    """Return the counts of the words, or of their wordpieces if the unit is `tokens`; wordpieces of
    words that do not fit into a window are not counted.
    """
    if settings.unit == "words":
        return counts
    tokens = Counter[str]()
    for word, count in counts.items():
        pieces = vocabulary.tokenize(word)
        if len(pieces) <= settings.length - 2:
            for piece in pieces:
                tokens[piece] += count
    return {token: count for token, count in tokens.items() if token not in vocabulary.special}


def _fits(word: str, vocabulary: Vocabulary, settings: ContextualSettings) -> bool:
    pieces = vocabulary.tokenize(word)
    return vocabulary.unknown not in pieces and 0 < len(pieces) <= settings.length - 2
