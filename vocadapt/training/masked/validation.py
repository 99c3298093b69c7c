"""Held-out loss of a network: at regular intervals during training, for the live chart and the
report, and before and after training, with confidence intervals and a verdict on the change.

The masked words are the same in every evaluation. Thus the points of a run are comparable, and so
are runs on the same text with the same seed and block length.

The verdict on the change:

1. The same words of held-out windows are masked for both networks, so their losses are paired by
   window.
2. The loss per character is a ratio of sums over windows, with a 95 % interval (`estimate_ratio`).
3. The change is the same ratio of the paired differences. It is reported as lower or higher only if
   its interval excludes 0 and there are enough words and windows.

Example: the change is −.050 nats per character, its interval −.080 to −.020: lower.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vocadapt.models.contextual.masked_loss import (
    MaskedLoss,
    MaskedWindow,
    WindowSettings,
    build_loss_windows,
    compute_masked_loss,
    compute_unigram_loss,
)
from vocadapt.report.table import Finding
from vocadapt.system.files import write_atomically
from vocadapt.training.callbacks import StepClock, check_finite, find_checkpoint
from vocadapt.training.masked.blocks import Blocks
from vocadapt.training.training_text import TrainingText
from vocadapt.vocabulary.families import Vocabulary

if TYPE_CHECKING:
    import transformers


CURVE = "held_out.json"
MAX_POINTS = 20
# Minimum number of wordpieces to train on between two points: evaluation then takes less than a
# tenth of the training time.
TOKENS_BETWEEN = 1 << 16
MAX_WINDOWS = 256  # held-out windows used for the curve, evenly spaced
WRITE_SECONDS = 2.0  # seconds between two writes of the curve


class Point(NamedTuple):
    """Loss per character at a point of the training: step, wordpieces trained on, and seconds
    without evaluation.
    """

    step: int
    tokens: int
    seconds: float
    loss: float


@dataclass(frozen=True)
class HeldOutCurve:
    """Held-out loss over training, and the progress of the training.

    steps: total number of steps. n_evaluated: number of windows evaluated, out of n_held_out. step,
    tokens, seconds: progress so far.
    """

    points: tuple[Point, ...] = ()
    steps: int = 0
    n_evaluated: int = 0
    n_held_out: int = 0
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "points": self.points,
            "steps": self.steps,
            "asked": self.n_evaluated,
            "of": self.n_held_out,
            "step": self.step,
            "tokens": self.tokens,
            "seconds": self.seconds,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "HeldOutCurve":
        """Read what `to_dict` returned.

        Raises KeyError, TypeError or ValueError for other values.
        """
        points = tuple(
            Point(int(step), int(tokens), float(seconds), float(loss))
            for step, tokens, seconds, loss in values["points"]
        )
        return cls(
            points=points,
            steps=int(values["steps"]),
            n_evaluated=int(values["asked"]),
            n_held_out=int(values["of"]),
            step=int(values["step"]),
            tokens=int(values["tokens"]),
            seconds=float(values["seconds"]),
        )

    @property
    def tokens_per_second(self) -> float:
        """Wordpieces trained on per second; 0 before the first measurement."""
        if not self.seconds:
            return 0.0
        return self.tokens / self.seconds


def read_curve(folder: Path) -> HeldOutCurve:
    """Read the curve of the training in a checkpoint folder; empty if there is none yet."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return HeldOutCurve.from_dict(json.loads((folder / CURVE).read_text(encoding="utf-8")))
    return HeldOutCurve()


def build_held_out_windows(
    text: TrainingText, vocabulary: Vocabulary, length: int
) -> tuple[MaskedWindow, ...]:
    """Divide the held-out lines of a text into windows that rarely exceed a length in tokens."""
    settings = WindowSettings().within(length)
    return tuple(build_loss_windows(text.held_out, text.splitter, vocabulary, settings))


def select_evenly(
    windows: Sequence[MaskedWindow], max_windows: int = MAX_WINDOWS
) -> tuple[MaskedWindow, ...]:
    """Return at most `max_windows` evenly spaced windows.

    Returns all windows if those have no masked word.
    """
    if len(windows) <= max_windows:
        return tuple(windows)
    indices = np.linspace(0, len(windows) - 1, max_windows).astype(int)
    selected = tuple(windows[index] for index in indices)
    if any(window.words for window in selected):
        return selected
    return tuple(windows)


class HeldOutValidator:
    """Evaluates the held-out loss at the start and end of a training, and at most 20 times in
    between.

    folder: checkpoint folder of the training; a resumed training keeps the points up to its
    checkpoint. tokens_per_step: wordpieces per step. count_steps: returns the number of steps of
    the whole training, once it has begun. The network's mode and all random states are left
    unchanged.
    """

    def __init__(
        self,
        network: "transformers.PreTrainedModel",
        vocabulary: Vocabulary,
        windows: Sequence[MaskedWindow],
        folder: Path,
        tokens_per_step: int,
        count_steps: Callable[[], int],
    ) -> None:
        self.network = network
        self.vocabulary = vocabulary
        self.folder = folder
        self.windows, self.n_held_out = select_evenly(windows), len(windows)
        self.tokens_per_step, self.count_steps = tokens_per_step, count_steps
        # State of an interrupted training, up to its checkpoint.
        before = read_curve(folder)
        checkpoint = find_checkpoint(folder) or "checkpoint-0"
        self.start = int(checkpoint.rpartition("-")[2])
        self.points: list[Point] = []
        self.steps = self.step = 0
        if self.start:
            self.points = [point for point in before.points if point.step <= self.start]
            self.steps, self.step = before.steps, self.start
        until_checkpoint = before.seconds * self.start / max(before.step, 1)
        # Time never decreases, so it is at least that of the last point.
        self.seconds_before = max([until_checkpoint, *(point.seconds for point in self.points)])
        self.seconds = self.seconds_before
        self.clock = StepClock()
        self.written = 0.0  # monotonic time of the last write
        if not self.points:
            self.evaluate()
        self.write()

    @property
    def curve(self) -> HeldOutCurve:
        """The curve so far."""
        return HeldOutCurve(
            points=tuple(self.points),
            steps=self.steps,
            n_evaluated=len(self.windows),
            n_held_out=self.n_held_out,
            step=self.step,
            tokens=self.step * self.tokens_per_step,
            seconds=self.seconds,
        )

    def __call__(self, step: int) -> None:
        """Evaluate the loss and write the curve after a step, if due."""
        self.clock.finish_step()
        self.step = step
        if not self.clock.steps:
            self.steps = self.count_steps()
        trained = self.clock.estimate_seconds(step - self.start)
        self.seconds = max(self.seconds, self.seconds_before + trained)
        interval = max(ceil(self.steps / MAX_POINTS), ceil(TOKENS_BETWEEN / self.tokens_per_step))
        if step % interval == 0 or step == self.steps:
            self.evaluate()
        if time.monotonic() - self.written > WRITE_SECONDS or step == self.steps:
            self.write()
        self.clock.begin_step()

    def evaluate(self) -> None:
        """Add the held-out loss after the current step to the curve."""
        loss = compute_masked_loss(self.network, self.vocabulary, self.windows).per_character
        tokens = self.step * self.tokens_per_step
        self.points.append(Point(self.step, tokens, self.seconds, loss))
        self.written = 0.0

    def write(self) -> None:
        """Write the curve for `read_curve`; a full disk does not end the training."""
        self.written = time.monotonic()
        with suppress(OSError):
            write_atomically(self.folder / CURVE, json.dumps(self.curve.to_dict()))


LOSSES = ("before", "after", "unigram")
LEVEL, Z = 0.95, 1.96  # confidence level, and its quantile of the normal distribution
# The standard deviation of a word's loss is about its mean, so the mean of n words has a relative
# standard error of about 1 / √n: 5 % for 400 words, which is an interval of ± 10 %. Training on a
# small text changes the loss by less than that.
MIN_WORDS = 400
MIN_WINDOWS = 10  # windows are the independent units; fewer give no reliable standard error

TOO_FEW = "too few words"
LOWER = "lower"
HIGHER = "higher"
NO_DIFFERENCE = "no difference"


@dataclass(frozen=True)
class LossChange:
    """Change of the loss per character, its 95 % interval, and the verdict.

    interval: None for fewer than two windows.
    """

    value: float
    interval: tuple[float, float] | None
    verdict: str

    def describe(self, words: int) -> Finding:
        """Describe the change on this number of held-out words; the code is the verdict."""
        code = self.verdict.replace(" ", "_")
        if self.verdict == TOO_FEW or self.interval is None:
            return Finding(
                code,
                f"{words:,} held-out words are too few to detect a difference (at least"
                f" {MIN_WORDS:,} words in {MIN_WINDOWS} windows are needed): give more text.",
            )
        low, high = self.interval
        spread = f"{self.value:+.3f}, {LEVEL:.0%} interval {low:+.3f} to {high:+.3f}"
        if self.verdict == NO_DIFFERENCE:
            return Finding(code, f"No significant difference on the held-out words ({spread}).")
        return Finding(code, f"The held-out loss became {self.verdict} ({spread}).")


def estimate_ratio(
    nats: NDArray[np.float64], characters: NDArray[np.float64]
) -> tuple[float, tuple[float, float] | None]:
    """Estimate sum(nats) / sum(characters) with its 95 % interval; both arrays (windows,).

    The interval is None for fewer than two windows.

    The standard error is that of a ratio estimate, by linearization (Cochran 1977, section 6.4):
    √(n / (n − 1) · Σ (nats − value · characters)²) / Σ characters.

    Example: nats [2, 4], characters [1, 1] -> value 3, residuals [−1, 1], standard error √(2 · 2) /
    2 = 1.
    """
    value = float(nats.sum() / characters.sum())
    windows = len(nats)
    if windows < 2:
        return value, None
    residuals = nats - value * characters
    error = sqrt(windows / (windows - 1) * float(np.square(residuals).sum())) / float(
        characters.sum()
    )
    return value, (value - Z * error, value + Z * error)


@dataclass(frozen=True)
class Losses:
    """Losses on the masked words of held-out lines: of a unigram model, and of the network before
    and after training.
    """

    unigram: MaskedLoss
    before: MaskedLoss
    after: MaskedLoss

    @property
    def per_character(self) -> dict[str, float]:
        """Each loss in nats per character."""
        return {name: getattr(self, name).per_character for name in LOSSES}

    @property
    def per_byte(self) -> dict[str, float]:
        """Each loss in nats per byte; empty if the bytes were not counted."""
        if not self.after.bytes:
            return {}
        return {name: getattr(self, name).per_byte for name in LOSSES}

    @property
    def change(self) -> LossChange:
        """Change of the loss per character, from the paired differences of each window, and whether
        it is significant.
        """
        nats, characters = self.after.each.T
        value, interval = estimate_ratio(nats - self.before.each[:, 0], characters)
        verdict = NO_DIFFERENCE
        if interval is None or self.after.words < MIN_WORDS or len(nats) < MIN_WINDOWS:
            verdict = TOO_FEW
        elif interval[1] < 0:
            verdict = LOWER
        elif interval[0] > 0:
            verdict = HIGHER
        return LossChange(value, interval, verdict)

    def list_figures(self) -> dict[str, Any]:
        """Return losses, intervals, change, and numbers of words, windows and skipped windows by
        their names in a TrainingReport.
        """
        return {
            "loss_per_character": self.per_character,
            "loss_per_byte": self.per_byte or None,
            "held_out_words": self.after.words,
            "held_out_windows": len(self.after.each),
            "loss_interval": {
                name: estimate_ratio(*getattr(self, name).each.T)[1] for name in ("before", "after")
            },
            "loss_change": self.change,
            "held_out_too_long": self.after.too_long or None,
        }


def measure_losses(
    network: "transformers.PreTrainedModel",
    blocks: Blocks,
    windows: Sequence[MaskedWindow],
    before: MaskedLoss,
    steps: int,
    lr: float,
) -> Losses:
    """Measure the held-out loss after a training, and that of a unigram model of its blocks.

    Raises InputError if the loss is not finite.
    """
    after = compute_masked_loss(network, blocks.vocabulary, windows)
    check_finite(after.nats, f"step {steps:,}, the last", lr, "The held-out loss is")
    return Losses(compute_unigram_loss(blocks.counts, windows), before, after)
