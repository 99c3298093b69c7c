"""Loss on held-out lines before and after training, with confidence intervals and a verdict on the
change.

1. The same words of held-out windows are masked for both networks, so their losses are paired by
   window.
2. The loss per character is a ratio of sums over windows, with a 95 % interval (`estimate_ratio`).
3. The change is the same ratio of the paired differences. It is reported as lower or higher only if
   its interval excludes 0 and there are enough words and windows.

Example: the change is −.050 nats per character, its interval −.080 to −.020: lower.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.models.contextual.masked_loss import MaskedLoss

LEVEL, Z = 0.95, 1.96  # confidence level, and its quantile of the normal distribution
# The standard deviation of a word's loss is about its mean, so the mean of n words has a relative
# standard error of about 1 / √n: 5 % for 400 words, an interval of ± 10 %. Training on a small text
# changes the loss by less than that.
MIN_WORDS = 400
MIN_WINDOWS = 10  # windows are the independent units; fewer give no reliable standard error

TOO_FEW, LOWER, HIGHER, NO_DIFFERENCE = "too few words", "lower", "higher", "no difference"


@dataclass(frozen=True)
class Ratio:
    """Loss per character over windows, and its 95 % interval; None for fewer than two windows."""

    value: float
    interval: tuple[float, float] | None


def estimate_ratio(nats: NDArray[np.float64], characters: NDArray[np.float64]) -> Ratio:
    """Estimate sum(nats) / sum(characters) with its 95 % interval; both arrays (windows,).

    The standard error is that of a ratio estimate, by linearization (Cochran 1977, section 6.4):
    √(n / (n − 1) · Σ (nats − value · characters)²) / Σ characters.

    Example: nats [2, 4], characters [1, 1] -> value 3, residuals [−1, 1], standard error √(2 · 2) /
    2 = 1.
    """
    value = float(nats.sum() / characters.sum())
    windows = len(nats)
    if windows < 2:
        return Ratio(value, None)
    residuals = nats - value * characters
    error = sqrt(windows / (windows - 1) * float(np.square(residuals).sum())) / float(
        characters.sum()
    )
    return Ratio(value, (value - Z * error, value + Z * error))


@dataclass(frozen=True)
class Losses:
    """Loss on the masked words of held-out lines: of a unigram model, of the network before and
    after training.
    """

    unigram: MaskedLoss
    before: MaskedLoss
    after: MaskedLoss

    def to_dict(self) -> dict[str, float]:
        """Return each loss in nats per character."""
        return {name: getattr(self, name).per_character for name in ("before", "after", "unigram")}

    @property
    def change(self) -> Ratio:
        """Change of the loss per character, from the paired differences of each window."""
        return estimate_ratio(self.after.each[:, 0] - self.before.each[:, 0], self.after.each[:, 1])

    @property
    def verdict(self) -> str:
        """Whether the loss became significantly lower or higher: one of the four verdicts above."""
        change = self.change
        if (
            self.after.words < MIN_WORDS
            or len(self.after.each) < MIN_WINDOWS
            or change.interval is None
        ):
            return TOO_FEW
        if change.interval[1] < 0:
            return LOWER
        if change.interval[0] > 0:
            return HIGHER
        return NO_DIFFERENCE

    def to_record(self) -> dict[str, Any]:
        """Return the figures for a report: losses, intervals, change, numbers of words, windows and
        skipped windows.
        """
        intervals = {
            name: estimate_ratio(*getattr(self, name).each.T).interval
            for name in ("before", "after")
        }
        change = self.change
        numbers = {
            "loss_per_character": self.to_dict(),
            "held_out_words": self.after.words,
            "held_out_windows": len(self.after.each),
            "loss_interval": intervals,
            "loss_change": {
                "value": change.value,
                "interval": change.interval,
                "verdict": self.verdict,
            },
        }
        return numbers | ({"held_out_too_long": self.after.too_long} if self.after.too_long else {})


def describe_change(change: Mapping[str, Any], words: int) -> str:
    """Describe the `loss_change` of a report in a sentence."""
    verdict = change["verdict"]
    if verdict == TOO_FEW:
        return (
            f"{words:,} held-out words are too few to detect a difference (at least {MIN_WORDS:,}"
            f" words in {MIN_WINDOWS} windows are needed): give more text."
        )
    low, high = change["interval"]
    spread = f"{change['value']:+.3f}, {LEVEL:.0%} interval {low:+.3f} to {high:+.3f}"
    if verdict == NO_DIFFERENCE:
        return f"No significant difference on the held-out words ({spread})."
    return f"The held-out loss became {verdict} ({spread})."
