"""Loss on held-out lines: by word counts alone, before and after a training, with intervals and a verdict on the change."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.models.contextual import MaskedLoss

LEVEL, Z = 0.95, 1.96  # of the intervals: a normal distribution holds 95 % within 1.96 standard errors
# The loss of a word has a standard deviation of about its mean, so that n words know the mean to about 1 / √n: 400 words to
# 5 %, an interval of ± 10 %. With fewer, a difference is not called: a training on a small text changes less than that.
LEAST_WORDS = 400
LEAST_WINDOWS = 10  # windows are what varies independently: of fewer no standard error can be estimated

TOO_FEW, LOWER, HIGHER, NO_DIFFERENCE = "too few words", "lower", "higher", "no difference"


@dataclass(frozen=True)
class Ratio:
    """A sum over windows by their number of characters, and its interval; None if there are not two windows."""

    value: float
    interval: tuple[float, float] | None


def estimate_ratio(nats: NDArray[np.float64], characters: NDArray[np.float64]) -> Ratio:
    """Return sum(nats) / sum(characters) of windows (windows,) with its 95 % interval.

    The standard error is that of a ratio estimate, by linearization (Cochran 1977, section 6.4):
    √(n / (n − 1) · Σ (nats − value · characters)²) / Σ characters.

    Example: nats [2, 4], characters [1, 1] -> value 3, residuals [−1, 1], standard error √(2 · 2) / 2 = 1.
    """
    value = float(nats.sum() / characters.sum())
    windows = len(nats)
    if windows < 2:
        return Ratio(value, None)
    residuals = nats - value * characters
    error = sqrt(windows / (windows - 1) * float(np.square(residuals).sum())) / float(characters.sum())
    return Ratio(value, (value - Z * error, value + Z * error))


@dataclass(frozen=True)
class Losses:
    """Loss on the masked words of held-out lines: by counts alone, by the network before training, and after."""

    unigram: MaskedLoss
    before: MaskedLoss
    after: MaskedLoss

    def to_dict(self) -> dict[str, float]:
        """Return each in nats per character."""
        return {name: getattr(self, name).per_character for name in ("before", "after", "unigram")}

    @property
    def change(self) -> Ratio:
        """The change per character, window by window: both networks saw the same words masked."""
        return estimate_ratio(self.after.each[:, 0] - self.before.each[:, 0], self.after.each[:, 1])

    @property
    def verdict(self) -> str:
        """Whether the loss became lower or higher, as far as the held-out words can tell."""
        change = self.change
        if self.after.words < LEAST_WORDS or len(self.after.each) < LEAST_WINDOWS or change.interval is None:
            return TOO_FEW
        if change.interval[1] < 0:
            return LOWER
        return HIGHER if change.interval[0] > 0 else NO_DIFFERENCE

    def to_record(self) -> dict[str, Any]:
        """Return what a report holds: losses, intervals, of how many words, how many windows were left out as too long."""
        intervals = {name: estimate_ratio(*getattr(self, name).each.T).interval for name in ("before", "after")}
        change = self.change
        numbers = {
            "loss_per_character": self.to_dict(),
            "held_out_words": self.after.words,
            "held_out_windows": len(self.after.each),
            "loss_interval": intervals,
            "loss_change": {"value": change.value, "interval": change.interval, "verdict": self.verdict},
        }
        return numbers | ({"held_out_too_long": self.after.too_long} if self.after.too_long else {})


def describe_change(change: Mapping[str, Any], words: int) -> str:
    """Return a sentence on the change that a report holds."""
    verdict = change["verdict"]
    if verdict == TOO_FEW:
        return (
            f"{words:,} held-out words are too few to call a difference ({LEAST_WORDS:,} words in {LEAST_WINDOWS} windows are "
            "the least): give more text."
        )
    low, high = change["interval"]
    spread = f"{change['value']:+.3f}, {LEVEL:.0%} interval {low:+.3f} to {high:+.3f}"
    if verdict == NO_DIFFERENCE:
        return f"No difference that the held-out words can tell ({spread})."
    return f"The held-out loss became {verdict} ({spread})."
