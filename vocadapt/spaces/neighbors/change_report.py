"""A neighborhood change as tables, and what it shows in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vocadapt.report.table import Column, Finding, Table
from vocadapt.spaces.neighbors.change import NeighborhoodChange, WordChange, count_by_overlap
from vocadapt.spaces.neighbors.noise_baseline import (
    LOW,
    NoiseBaseline,
    explain_missing_baseline,
)
from vocadapt.spaces.space import IntArray

OVERLAP = Column(
    "overlap", "Overlap", "Fraction of its nearest neighbors that both spaces have.", "fraction"
)
COUNT = Column("count", "Occurrences", "Occurrences of the word in the text.", "number")
NOISE = (
    Column(
        "null.overlap",
        "Noise baseline",
        "Overlap of this word between the two spaces of the noise baseline.",
        "fraction",
    ),
    Column(
        "null.quantile",
        "Quantile",
        "Fraction of words of similar frequency that keep fewer neighbors in the noise baseline;"
        " ties count half.",
        "fraction",
    ),
    Column(
        "null.z",
        "z",
        "Difference from the words of similar frequency in the noise baseline, in their standard"
        " deviations.",
        "tenths",
    ),
    Column(
        "changed",
        "Changed",
        "Whether the word keeps fewer neighbors than 95 % of the words of similar frequency in the"
        " noise baseline.",
        "number",
    ),
)


@dataclass(frozen=True)
class NoiseOfWord:
    """Overlap of a word in the noise baseline, the quantile of its own overlap in it, and z; None
    if all words of its frequency have the same overlap.
    """

    overlap: float
    quantile: float
    z: float | None


@dataclass(frozen=True)
class ChangedWord:
    """A word with the fraction of neighbors that it keeps; None without counts or baseline."""

    word: str
    overlap: float
    count: int | None
    null: NoiseOfWord | None
    changed: bool | None


@dataclass(frozen=True)
class NoiseSummary:
    """The noise baseline: how much two runs that differ only in chance differ."""

    about: str
    spaces: tuple[str, str]
    mean_overlap: float
    histogram: tuple[int, ...]
    bands: int
    quantile: float
    fraction_below: float
    baseline_fraction_below: float


@dataclass(frozen=True)
class ChangeSummary:
    """The comparison of two spaces, most changed words first.

    histogram: words by number of common neighbors, 0 to k. word: the neighbors of a requested word.
    """

    k: int
    among: str
    without: tuple[str, ...]
    shared: int
    of: tuple[int, int]
    compared: int
    left_out: dict[str, int]
    mean_overlap: float
    chance: float
    histogram: tuple[int, ...]
    words: tuple[ChangedWord, ...]
    null: NoiseSummary | None
    findings: tuple[Finding, ...]
    word: WordChange | None


def summarize_change(
    change: NeighborhoodChange, baseline: NoiseBaseline | None, n: int, word: str = ""
) -> ChangeSummary:
    """Summarize a comparison, with its n most changed words and the neighbors of one word.

    Raises InputError if the word is not compared.
    """
    settings, null = change.settings, None
    if baseline is not None:
        null = NoiseSummary(
            baseline.about,
            baseline.names,
            baseline.mean,
            tuple(count_by_overlap(baseline.overlap, settings.k).tolist()),
            baseline.bands,
            LOW,
            baseline.fraction_below,
            baseline.baseline_fraction_below,
        )
    return ChangeSummary(
        settings.k,
        settings.among,
        settings.without,
        change.shared,
        change.sizes,
        len(change.words),
        change.left_out,
        change.mean,
        change.chance,
        tuple(change.histogram.tolist()),
        list_changed_words(change, baseline, change.order[:n]),
        null,
        (describe_histogram(change), describe_baseline(change, baseline)),
        change.word(word) if word else None,
    )


def list_changed_words(
    change: NeighborhoodChange, baseline: NoiseBaseline | None, rows: Sequence[int] | IntArray
) -> tuple[ChangedWord, ...]:
    """Return the words of rows with their overlaps."""
    words = []
    for row in rows:
        count, null, changed = None, None, None
        if change.counts is not None:
            count = int(change.counts[row])
        if baseline is not None:
            z = float(baseline.z[row]) if np.isfinite(baseline.z[row]) else None
            quantile = float(baseline.quantile[row])
            null = NoiseOfWord(float(baseline.overlap[row]), quantile, z)
            changed = bool(baseline.below[row])
        overlap = float(change.overlap[row])
        words.append(ChangedWord(change.words[row], overlap, count, null, changed))
    return tuple(words)


def build_word_table(words: Sequence[ChangedWord], notes: tuple[str, ...] = ()) -> Table:
    """Return words as a table; counts and the columns of the noise baseline are optional."""
    columns = [Column("word", "Word"), OVERLAP]
    if any(one.count is not None for one in words):
        columns.append(COUNT)
    if any(one.null for one in words):
        columns += NOISE
    return Table("", tuple(columns), words, notes)


def build_neighbor_table(change: NeighborhoodChange, baseline: NoiseBaseline | None) -> Table:
    """Return every word, most changed first, with its lost, kept and gained neighbors."""
    table = build_word_table(list_changed_words(change, baseline, change.order))
    rows = []
    for record in table.list_records():
        found = change.word(record["word"])
        lists = {
            "only_before": [one.word for one in found.only_before],
            "both": [one.word for one in found.both],
            "only_after": [one.word for one in found.only_after],
        }
        rows.append(record | lists)
    return Table("", tuple(map(Column, rows[0])), rows)


def describe_histogram(change: NeighborhoodChange) -> Finding:
    """Return how many neighbors the words keep: the median, and how many keep none and all."""
    k = change.settings.k
    words = len(change.words)
    none = int(change.histogram[0])
    all_kept = int(change.histogram[-1])
    numbers = f"{none:,} of {words:,} keep none, {all_kept:,} keep all."
    median = float(np.median(np.rint(change.overlap * k)))
    if median == k:  # "at most all" says nothing
        sentence = f"At least half of the words keep all {k} neighbors; {numbers}"
        return Finding("half_keep_all", sentence)
    sentence = f"Half of the words keep at most {median:g} of {k} neighbors; {numbers}"
    return Finding("half_keep_few", sentence)


def describe_baseline(change: NeighborhoodChange, baseline: NoiseBaseline | None) -> Finding:
    """Return how the change compares with the noise baseline, or why there is none."""
    if baseline is None:
        return explain_missing_baseline(change)
    if baseline.same:
        return Finding(
            "identical_baseline",
            "The two spaces of the noise baseline are identical, so it does not measure noise.",
        )
    return Finding(
        "compared_with_noise",
        f"{baseline.fraction_below:.1%} of the words keep fewer neighbors than 95 % of words of"
        " their frequency do in the noise baseline; in the baseline itself it is"
        f" {baseline.baseline_fraction_below:.1%}.",
    )
