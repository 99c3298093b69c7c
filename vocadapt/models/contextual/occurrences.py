"""Select the occurrences of words or tokens for which contextual vectors are computed, and the
windows of text around them.

The text is a file of words (`write_sentences`), one line per context. Every distinct word is
tokenized once.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.settings import MAX_SEED, check_settings, setting
from vocadapt.vocabulary.families import Vocabulary

UNITS = {
    "words": "whole words: the mean of their pieces",
    "tokens": "wordpieces of the text",
}
LAST = -1


@dataclass(frozen=True)
class ContextualSettings:
    """Which contextual vectors are computed; a window includes [CLS] and [SEP].

    Layer 0 is the embedding output: token, position and type embedding, normalized.
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

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, eq=False)
class VectorTargets:
    """The words or tokens that get a vector, most frequent first, their counts (targets,) int64,
    and the numbers of those that get none, by reason.
    """

    names: tuple[str, ...]
    counts: NDArray[np.int64]
    left_out: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each target."""
        return {name: i for i, name in enumerate(self.names)}

    def taken(self, occurrences: int) -> NDArray[np.int64]:
        """Return the number of occurrences of each target that are read, (targets,) int64."""
        return np.minimum(self.counts, occurrences)


@dataclass(frozen=True, eq=False)
class OccurrenceWindow:
    """Wordpiece ids of a stretch of a line between [CLS] and [SEP], and what is taken from it.

    The vector at `places` counts towards `targets` with `weights`: 1 over the number of pieces of
    the word.
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

    counts: word counts of the text. wanted: the only words to consider, at any count. Words that
    the vocabulary cannot spell, or only with more pieces than fit into a window, get none. Raises
    InputError if nothing is left.
    """
    whole, left_out = _units(counts, vocabulary, settings), Counter[str]()
    if wanted is None:
        found = {name: count for name, count in whole.items() if count >= settings.min_count}
        left_out[f"occurs less than {settings.min_count} times"] = len(whole) - len(found)
    else:
        asked = dict.fromkeys(wanted)
        found = {name: whole[name] for name in asked if name in whole}
        left_out["not in the text"] = len(asked) - len(found)
    fine = {
        name: count
        for name, count in found.items()
        if settings.unit == "tokens" or _fits(name, vocabulary, settings)
    }
    left_out["cannot be spelled by the model, or is too long"] = len(found) - len(fine)
    ordered = sorted(fine, key=lambda name: (-fine[name], name))
    if settings.first:
        left_out[f"not among the first {settings.first}"] = len(ordered[settings.first :])
        ordered = ordered[: settings.first]
    reasons = {reason: number for reason, number in left_out.items() if number}
    if not ordered:
        said = (
            "; ".join(f"{number:,}: {reason}" for reason, number in reasons.items())
            or "it holds none"
        )
        raise InputError(
            f"No {settings.unit[:-1]} of this text gets a vector ({said}).",
            "Give more text, or ask for others.",
        )
    return VectorTargets(
        tuple(ordered), np.array([fine[name] for name in ordered], dtype=np.int64), reasons
    )


def draw_occurrences(
    targets: VectorTargets, settings: ContextualSettings
) -> list[frozenset[int] | None]:
    """Draw the occurrences of each target, by number from 0; None if all of them are read."""
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

    Windows end between words; a word that is longer than a window becomes the unknown token. Raises
    InputError for a vocabulary without [CLS] and [SEP].
    """
    reader = _Reader(vocabulary, targets, settings)
    read = 0
    with sentences.open("rb") as file:
        for line in file:
            read += len(line)
            for window in reader.windows(line.decode().rstrip("\n").split(" ")):
                yield window, read


class _Reader:
    """Splits lines into windows; tokenizes each distinct word once, and counts the occurrences."""

    def __init__(
        self, vocabulary: Vocabulary, targets: VectorTargets, settings: ContextualSettings
    ) -> None:
        lacking = vocabulary.list_missing("cls", "sep")
        if lacking:
            raise InputError(
                f"This model has no {lacking[0]} token: how a text begins and ends for it is not"
                " known."
            )
        self.vocabulary, self.targets, self.settings = vocabulary, targets, settings
        self.start, self.end = vocabulary.role_ids["cls"], vocabulary.role_ids["sep"]
        self.drawn = draw_occurrences(targets, settings)
        self.met = [0] * len(targets.names)
        self.known: dict[str, tuple[list[int], list[int], float]] = {}

    def windows(self, words: list[str]) -> Iterator[OccurrenceWindow]:
        """Yield the windows of one line that contain a drawn occurrence."""
        window, room = OccurrenceWindow([self.start], [], [], []), self.settings.length - 1
        for word in words:
            ids, targets, weight = self._known(word)
            if len(window.ids) + len(ids) > room:
                yield from self._closed(window)
                window = OccurrenceWindow([self.start], [], [], [])
            self._take(window, targets, weight)
            window.ids.extend(ids)
        yield from self._closed(window)

    def _closed(self, window: OccurrenceWindow) -> Iterator[OccurrenceWindow]:
        if window.places:
            window.ids.append(self.end)
            yield window

    def _known(self, word: str) -> tuple[list[int], list[int], float]:
        """Return the ids of a word's pieces, the target of each (−1: none), and the
        weight of each.
        """
        if word not in self.known:
            self.known[word] = self._look_up(word)
        return self.known[word]

    def _look_up(self, word: str) -> tuple[list[int], list[int], float]:
        pieces = self.vocabulary.tokenize(word)
        if len(pieces) > self.settings.length - 2:
            pieces = (self.vocabulary.unknown,)
        ids = [self.vocabulary.ids[piece] for piece in pieces]
        if self.settings.unit == "tokens":
            return ids, [self.targets.index.get(piece, -1) for piece in pieces], 1.0
        target = self.targets.index.get(word, -1)
        if target < 0:
            return ids, [], 1 / len(ids)
        return ids, [target] * len(ids), 1 / len(ids)

    def _take(self, window: OccurrenceWindow, targets: list[int], weight: float) -> None:
        """Record the drawn occurrences of a word that comes next in a window."""
        at = len(window.ids)
        if self.settings.unit == "words":
            if targets and self._is_drawn(targets[0]):
                window.places.extend(range(at, at + len(targets)))
                window.targets.extend(targets)
                window.weights.extend([weight] * len(targets))
            return
        for place, target in enumerate(targets, at):
            if target >= 0 and self._is_drawn(target):
                window.places.append(place)
                window.targets.append(target)
                window.weights.append(weight)

    def _is_drawn(self, target: int) -> bool:
        """Return whether the next occurrence of a target is drawn."""
        number, chosen = self.met[target], self.drawn[target]
        self.met[target] = number + 1
        return chosen is None or number in chosen


def _units(
    counts: Mapping[str, int], vocabulary: Vocabulary, settings: ContextualSettings
) -> Mapping[str, int]:
    """The words with their counts, or the wordpieces of these words; those of a word that
    fits no window are not met.
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
