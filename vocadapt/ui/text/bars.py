"""Scales of score bars: every bar begins at 0, and all bars of a group share one scale.

A bar of a cosine has a tick at the mean cosine of two random tokens of the space: a cosine that
does not exceed it shows no similarity.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from vocadapt.ui.text.number_formats import count, fraction


@dataclass(frozen=True)
class BarScale:
    """Scale of a group of bars.

    highest: the score of a full bar. note: a sentence that states the scale.
    """

    highest: float
    note: str

    def width(self, score: float) -> float:
        """Return the width of a bar in percent; 0 for scores below 0."""
        if not score > 0:
            return 0.0
        return 100 * min(score / self.highest, 1.0)


def build_scale(
    measure: str, scores: Iterable[float], random_cosines: Iterable[float] = ()
) -> BarScale:
    """Build a scale from 0 to the highest positive score, or to 1 if there is none.

    measure: "similarity", "distance", "count" or "probability". Similarities are cosines or CSLS
    scores: their scale ends at 1, or at the highest score if that exceeds 1. random_cosines: mean
    cosines of two random tokens, which the bars mark by a tick.
    """
    highest = max((score for score in scores if score > 0), default=1.0)
    if measure == "similarity":
        highest = max(highest, 1.0)
    end = count(round(highest)) if measure == "count" else fraction(highest)
    note = f"Bars: 0 to {end}."
    if measure == "distance":
        note += " A longer bar is farther away."
    if levels := sorted({fraction(cosine) for cosine in random_cosines}):
        note += f" Tick: mean cosine of two random tokens ({' or '.join(levels)})."
    return BarScale(highest, note)
