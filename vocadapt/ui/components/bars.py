"""Scales of score bars: every bar begins at 0, and all bars of a group share one scale."""

from collections.abc import Iterable
from dataclasses import dataclass

from vocadapt.ui.components.number_formats import count, fraction


@dataclass(frozen=True)
class BarScale:
    """Scale of a group of bars; highest: the score of a full bar; note: a sentence that states the
    scale.
    """

    highest: float
    note: str

    def width(self, score: float) -> float:
        """Return the width of a bar in percent; 0 for scores below 0."""
        if not score > 0:
            return 0.0
        return 100 * min(score / self.highest, 1.0)


def build_similarity_scale(scores: Iterable[float]) -> BarScale:
    """Build a scale for cosines and CSLS scores: from 0 to 1, or to the highest score if that
    exceeds 1.
    """
    shown = list(scores)
    highest = max([1.0, *shown])
    note = "Bars: 0 to 1."
    if highest > 1:
        note = f"Bars: 0 to {fraction(highest)}, the highest score shown."
    if any(score < 0 for score in shown):
        note += " A score below 0 has no bar."
    return BarScale(highest, note)


def build_distance_scale(scores: Iterable[float]) -> BarScale:
    """Build a scale for distances: from 0 to the largest one; a longer bar is farther away."""
    highest = _largest(scores)
    return BarScale(
        highest,
        f"Bars: 0 to {fraction(highest)}, the largest distance shown. A longer bar is farther"
        " away.",
    )


def build_count_scale(scores: Iterable[float]) -> BarScale:
    """Build a scale for counts: from 0 to the largest one."""
    highest = _largest(scores)
    return BarScale(highest, f"Bars: 0 to {count(round(highest))}.")


def build_column_scale(scores: Iterable[float]) -> BarScale:
    """Build a scale for columns of a table: from 0 to the highest score in any of them."""
    highest = _largest(scores)
    return BarScale(
        highest, f"Bars: 0 to {fraction(highest)}, the highest score shown, in every column."
    )


def _largest(scores: Iterable[float]) -> float:
    """Return the largest positive score, 1 if there is none."""
    return max((score for score in scores if score > 0), default=1.0)
