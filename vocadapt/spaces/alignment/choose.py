"""Choose an alignment by held-out words, and evaluate it on words that took no part in the choice.

A hash of the word decides its fold, the same for every text and model:

1. Hold a fifth of the words out (the last of five folds). Divide the others into four folds: fit
   each of the fast methods on three, and evaluate it on the fourth.
2. Take the simplest method, and replace it by a later one that finds significantly more words.
3. Fit the chosen and the published method on the four folds, and evaluate both on the last.
"""

import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.alignment.anchors import AnchorFilter, Anchors, find_anchors
from vocadapt.spaces.alignment.cross_validation import (
    ALL,
    RANKING,
    RANKINGS,
    HeldOutQuality,
    evaluate_split,
    find_infeasible_methods,
    select_anchors,
)
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.space import BoolArray, EmbeddingSpace, IntArray

FOLDS = 5
K = 5  # methods are compared by P@5: it varies less than P@1
MAX_ROTATED = 4_000  # anchors: with more, one fold suffices to choose by, and saves time
SIGNIFICANT = 1.96  # standard errors of a paired difference
METHOD_CHOSEN = 0.7  # fraction of the time until a method is chosen


@dataclass(frozen=True, eq=False)
class ChosenAlignment:
    """A chosen alignment, its evaluation on the last fold, and that of the published method.

    published: None if least squares cannot be fitted. of: number of methods that were compared.
    """

    quality: HeldOutQuality
    published: HeldOutQuality | None
    of: int

    @property
    def settings(self) -> AlignmentSettings:
        """The settings of the chosen alignment."""
        return self.quality.settings


def list_fast_alignments(anchors: AnchorFilter = ALL) -> tuple[AlignmentSettings, ...]:
    """Return the alignments to choose from, simplest first; the published one is the first."""
    return (
        AlignmentSettings("least-squares", anchors=anchors),
        AlignmentSettings("least-squares", unit=True, center=True, anchors=anchors),
        AlignmentSettings("procrustes", unit=True, center=True, anchors=anchors),
        AlignmentSettings("ridge", unit=True, center=True, ridge=1.0, anchors=anchors),
        AlignmentSettings("kernel-ridge", unit=True, center=True, anchors=anchors),
    )


def hash_word(word: str) -> int:
    """Return a hash that is the same in every process and on every machine."""
    return zlib.crc32(word.encode())


def choose_alignment(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    anchors: AnchorFilter = ALL,
    folds: int = FOLDS,
    progress: Progress = silent,
) -> ChosenAlignment:
    """Choose the best fast alignment for two spaces; see the head of the file.

    Raises InputError without words to choose by or to evaluate on, or if no method can be fitted.
    """
    # 1. Hold the last fold out, and divide the other words by other digits of the hash.
    shared = find_anchors(source, target, anchors)
    hashes = np.array([hash_word(word) for word in shared.words], dtype=np.int64)
    last = hashes % folds == folds - 1
    inner = hashes[~last] // folds % max(folds - 1, 2)
    sizes = np.bincount(inner)
    if not last.any() or (sizes > 0).sum() < 2:
        raise InputError(
            f"{source.name} and {target.name} share {len(shared):,} words: too few for {folds} folds.",
            "Give more text, or name a method.",
            code="too-few-anchors",
        )

    # 2. Choose among the methods that can be fitted on the smallest training set of the folds.
    infeasible = find_infeasible_methods(source, target, int(sizes.sum() - sizes.max()))
    able = [one for one in list_fast_alignments(anchors) if one.method not in infeasible]
    report = part(progress, 0.0, METHOD_CHOSEN)
    chosen = _select_simplest(select_anchors(shared, ~last), inner, able, source, target, report)

    # 3. Evaluate on the last fold.
    report = part(progress, METHOD_CHOSEN, 1.0)
    quality = _evaluate_last(shared, last, source, target, chosen, part(report, 0.0, 0.5))
    published = None
    if chosen == AlignmentSettings(anchors=anchors):
        published = quality
    elif able[0] == AlignmentSettings(anchors=anchors):
        published = _evaluate_last(shared, last, source, target, able[0], part(report, 0.5, 1.0))
    progress(1.0, "evaluated")
    return ChosenAlignment(quality, published, len(able))


def _select_simplest(
    visible: Anchors,
    fold: IntArray,
    able: Sequence[AlignmentSettings],
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    progress: Progress,
) -> AlignmentSettings:
    """Return the first method, or the last one that finds significantly more words than the best
    one before it; fold: (n,) of the anchors.
    """
    # 1. Only the wordpieces of these anchors are candidates. With many anchors, one fold suffices.
    pieces = target.take(visible.target_rows)
    own = Anchors(visible.words, visible.source_rows, np.arange(len(visible)))
    tested = np.unique(fold)
    if len(own) > MAX_ROTATED:
        tested = tested[-1:]

    # 2. Which words each method finds.
    found: list[BoolArray] = []
    for place, settings in enumerate(able):
        progress(place / len(able), f"evaluating {settings.method}")
        results = [
            evaluate_split(own, fold == number, source, pieces, settings) for number in tested
        ]
        found.append(np.concatenate([ranks[RANKING] < K for *_, ranks in results]))

    # 3. A later, less simple method has to be better by more than chance.
    best = 0
    for place in range(1, len(able)):
        difference = found[place].astype(np.float64) - found[best]
        error = difference.std() / len(difference) ** 0.5
        if difference.mean() > SIGNIFICANT * error:
            best = place
    return able[best]


def _evaluate_last(
    shared: Anchors,
    last: BoolArray,
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    settings: AlignmentSettings,
    progress: Progress,
) -> HeldOutQuality:
    start = time.perf_counter()
    cosine, random_cosine, length, ranks = evaluate_split(
        shared, last, source, target, settings, progress
    )
    sizes = dict(zip(RANKINGS, 2 * (len(shared), len(target)), strict=True))
    test = replace(select_anchors(shared, last), never_produced=shared.never_produced)
    one_fold = np.zeros(len(test), dtype=np.int64)
    seconds = time.perf_counter() - start
    return HeldOutQuality(
        settings, test, one_fold, cosine, random_cosine, length, ranks, sizes, seconds
    )
