"""Held-out loss of a network during training, at regular intervals, for the live chart and the
report.

The masked words are the same every time, so the points of a run are comparable, and so are runs
on the same text with the same seed and block length.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vocadapt.models.contextual.masked_loss import MaskedWindow, compute_masked_loss
from vocadapt.training.callbacks import find_checkpoint, write_atomically
from vocadapt.vocabulary.families import Vocabulary

if TYPE_CHECKING:
    import transformers

CURVE = "held_out.json"
MAX_POINTS = 20
# Wordpieces read in training between two points, at least: evaluation then takes less than a tenth
# of the time that training takes.
TOKENS_BETWEEN = 1 << 16
MAX_WINDOWS = 256  # held-out windows used for the curve, evenly spaced
WRITE_SECONDS = 2.0  # between two writes of the curve


@dataclass(frozen=True)
class Point:
    """Loss per character after a number of steps, wordpieces read and seconds of training
    (evaluation not counted).
    """

    step: int
    tokens: int
    seconds: float
    loss: float


@dataclass(frozen=True)
class HeldOutCurve:
    """Held-out loss over training, and the training's position.

    steps: number of steps in all. asked: windows evaluated, out of `of` held-out ones. step,
    tokens, seconds: how far training is, or was when it ended.
    """

    points: tuple[Point, ...] = ()
    steps: int = 0
    asked: int = 0
    of: int = 0
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        points = [[point.step, point.tokens, point.seconds, point.loss] for point in self.points]
        counts = {name: getattr(self, name) for name in COUNTS}
        return {"points": points, **counts, "seconds": self.seconds}

    @classmethod
    def of_dict(cls, values: Mapping[str, Any]) -> "HeldOutCurve":
        """Read what `to_dict` returned; raises KeyError, TypeError or ValueError for anything
        else.
        """
        points = tuple(
            Point(int(step), int(tokens), float(seconds), float(loss))
            for step, tokens, seconds, loss in values["points"]
        )
        counts = {name: int(values[name]) for name in COUNTS}
        return cls(points, seconds=float(values["seconds"]), **counts)

    @property
    def tokens_per_second(self) -> float:
        """Wordpieces read per second of training; 0 before the first measurement."""
        if not self.seconds:
            return 0.0
        return self.tokens / self.seconds


COUNTS = ("steps", "asked", "of", "step", "tokens")


def read_curve(folder: Path) -> HeldOutCurve:
    """Read the curve of the training with checkpoints in `folder`; empty if there is none yet."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return HeldOutCurve.of_dict(json.loads((folder / CURVE).read_text(encoding="utf-8")))
    return HeldOutCurve()


def select_evenly(
    windows: Sequence[MaskedWindow], most: int = MAX_WINDOWS
) -> tuple[MaskedWindow, ...]:
    """Return at most `most` evenly spaced windows; all windows if the selected ones have no masked
    word.
    """
    if len(windows) <= most:
        return tuple(windows)
    indices = np.linspace(0, len(windows) - 1, most).astype(int)
    selected = tuple(windows[index] for index in indices)
    if any(window.words for window in selected):
        return selected
    return tuple(windows)


class HeldOutValidator:
    """Evaluates the held-out loss during training: at the start, at the end, and at most 20 times
    in between.

    folder: where the training keeps its checkpoints; a resumed training takes over the points up
    to its checkpoint. tokens_per_step: wordpieces read per step. count_steps: returns the number of
    steps of the whole training, once it has begun. The network's mode and all random states are
    left unchanged.
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
        self.network, self.vocabulary, self.folder = network, vocabulary, folder
        self.windows, self.n_held_out = select_evenly(windows), len(windows)
        self.tokens_per_step, self.count_steps = tokens_per_step, count_steps
        # State of an interrupted training, up to its checkpoint.
        before = read_curve(folder)
        self.start = _checkpoint_step(folder)
        self.points: list[Point] = []
        self.steps = self.step = 0
        if self.start:
            self.points = [point for point in before.points if point.step <= self.start]
            self.steps, self.step = before.steps, self.start
        until_checkpoint = before.seconds * self.start / max(before.step, 1)
        # The clock never goes back, not even behind a point.
        self.seconds_before = max([until_checkpoint, *(point.seconds for point in self.points)])
        self.seconds = self.seconds_before
        # Times of time.monotonic: end of the first step, last write; seconds of evaluation since.
        self.began = self.written = self.evaluating = 0.0
        if not self.points:
            self.evaluate()
        self.write()

    @property
    def curve(self) -> HeldOutCurve:
        """The curve so far."""
        return HeldOutCurve(
            points=tuple(self.points),
            steps=self.steps,
            asked=len(self.windows),
            of=self.n_held_out,
            step=self.step,
            tokens=self.step * self.tokens_per_step,
            seconds=self.seconds,
        )

    def __call__(self, step: int) -> None:
        """Evaluate and write the curve after this step, if due."""
        now = time.monotonic()
        self.step = step
        done = step - self.start
        if not self.began:
            self.began, self.steps = now, self.count_steps()
        elif done > 1:
            # The clock runs from the end of the first step, which is taken to be as long as the
            # mean of the others.
            measured = now - self.began - self.evaluating
            self.seconds = max(self.seconds, self.seconds_before + measured * done / (done - 1))
        if step % self.steps_between == 0 or step == self.steps:
            self.evaluate()
        if now - self.written > WRITE_SECONDS or step == self.steps:
            self.write()

    @property
    def steps_between(self) -> int:
        """Steps between two points."""
        return max(1, ceil(self.steps / MAX_POINTS), ceil(TOKENS_BETWEEN / self.tokens_per_step))

    def evaluate(self) -> None:
        """Add the held-out loss after the current step to the curve."""
        began = time.monotonic()
        loss = compute_masked_loss(self.network, self.vocabulary, self.windows).per_character
        tokens = self.step * self.tokens_per_step
        self.points.append(Point(self.step, tokens, self.seconds, loss))
        if self.began:
            self.evaluating += time.monotonic() - began
        self.written = 0.0

    def write(self) -> None:
        """Write the curve for `read_curve`; a full disk does not end the training."""
        self.written = time.monotonic()
        with suppress(OSError):
            write_atomically(self.folder / CURVE, json.dumps(self.curve.to_dict()))


def _checkpoint_step(folder: Path) -> int:
    """Return the step of the checkpoint that training resumes from; 0 without one."""
    checkpoint = find_checkpoint(folder)
    if checkpoint is None:
        return 0
    return int(Path(checkpoint).name.removeprefix("checkpoint-"))
