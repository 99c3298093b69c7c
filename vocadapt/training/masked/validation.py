"""The held-out loss of a network while it trains: asked now and then, so that its curve can be
watched, kept and compared.

The words asked are always the same, so points of one run compare, and those of runs on one text
under one seed and length.
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

from vocadapt.models.contextual.masked_loss import Window, masked_word_loss
from vocadapt.training.callbacks import find_checkpoint, write_atomically
from vocadapt.vocabulary.families.wordpiece import Vocabulary

if TYPE_CHECKING:
    import transformers

CURVE = "held_out.json"
MOST_POINTS = 20
APART = (
    1 << 16
)  # wordpieces read in training between two points, at least: asking costs less than a tenth of that
ASKED = 256  # windows, evenly taken of all that were held out
TOLD = 2.0  # seconds between two tellings of how far it is


@dataclass(frozen=True)
class Point:
    """The loss per character after so many steps, wordpieces read and seconds of training (those of
    asking not counted).
    """

    step: int
    tokens: int
    seconds: float
    loss: float


@dataclass(frozen=True)
class HeldOutCurve:
    """How the held-out loss fell: its points, the steps in all, the windows that were asked, and of
    how many; where it stands.

    `step`, `tokens` and `seconds`: how far the training is by now, or was when it ended.
    """

    points: tuple[Point, ...] = ()
    steps: int = 0
    asked: int = 0
    of: int = 0
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        rows = [[point.step, point.tokens, point.seconds, point.loss] for point in self.points]
        return {
            "points": rows,
            **{name: getattr(self, name) for name in COUNTED},
            "seconds": self.seconds,
        }

    @classmethod
    def of_dict(cls, values: Mapping[str, Any]) -> "HeldOutCurve":
        """What `to_dict` gave; raises KeyError, TypeError or ValueError for anything else."""
        points = tuple(
            Point(int(step), int(read), float(seconds), float(loss))
            for step, read, seconds, loss in values["points"]
        )
        counted = {name: int(values[name]) for name in COUNTED}
        return cls(points, seconds=float(values["seconds"]), **counted)

    @property
    def tokens_per_second(self) -> float:
        """Wordpieces read a second, asking not counted; 0 before there is a pace."""
        return self.tokens / self.seconds if self.seconds else 0.0


COUNTED = ("steps", "asked", "of", "step", "tokens")


def read_curve(folder: Path) -> HeldOutCurve:
    """What the training that keeps its checkpoints in a folder has heard so far; empty where that
    is nothing yet.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        return HeldOutCurve.of_dict(json.loads((folder / CURVE).read_text(encoding="utf-8")))
    return HeldOutCurve()


def select_evenly(asked: Sequence[Window], most: int = ASKED) -> tuple[Window, ...]:
    """At most so many windows, evenly taken; all of them where none of those hides a word."""
    if len(asked) <= most:
        return tuple(asked)
    taken = tuple(asked[place] for place in np.linspace(0, len(asked) - 1, most).astype(int))
    return taken if any(window.words for window in taken) else tuple(asked)


class HeldOutValidator:
    """Asks a network in training its held-out words: at the start, at the end, and at most twenty
    times between.

    `folder` is where the training keeps its checkpoints: one that goes on there takes over what was
    heard before its checkpoint. `length` gives the steps of the whole training, once it has begun;
    `a_step` wordpieces are read in each. The network and every random state are left as they are.
    """

    def __init__(
        self,
        network: "transformers.PreTrainedModel",
        vocabulary: Vocabulary,
        asked: Sequence[Window],
        folder: Path,
        a_step: int,
        length: Callable[[], int],
    ) -> None:
        self.network, self.vocabulary, self.folder = network, vocabulary, folder
        self.asked, self.of, self.a_step, self.length = (
            select_evenly(asked),
            len(asked),
            a_step,
            length,
        )
        before = read_curve(folder)
        self.start = _start(folder)
        self.points = (
            [point for point in before.points if point.step <= self.start] if self.start else []
        )
        share = before.seconds * self.start / before.step if before.step else 0.0
        self.base = self.seconds = max(
            [share, *(point.seconds for point in self.points)]
        )  # a clock that never goes back
        self.steps, self.step = (before.steps, self.start) if self.start else (0, 0)
        self.began = self.told = self.spent = 0.0
        if not self.points:
            self.ask()
        self.tell()

    @property
    def curve(self) -> HeldOutCurve:
        """What was heard so far."""
        points, read = tuple(self.points), self.step * self.a_step
        return HeldOutCurve(
            points, self.steps, len(self.asked), self.of, self.step, read, self.seconds
        )

    def __call__(self, step: int) -> None:
        """Ask after this step, if it is time to; tell how far the training is."""
        now = time.monotonic()
        self.step = step
        if not self.began:
            self.began, self.steps = now, self.length()
        elif (
            done := step - self.start
        ) > 1:  # the first step, from whose end the clock runs, took what the others take
            self.seconds = max(
                self.seconds, self.base + (now - self.began - self.spent) * done / (done - 1)
            )
        if step % self.every == 0 or step == self.steps:
            self.ask()
        if now - self.told > TOLD or step == self.steps:
            self.tell()

    @property
    def every(self) -> int:
        """Steps between two points."""
        return max(1, ceil(self.steps / MOST_POINTS), ceil(APART / self.a_step))

    def ask(self) -> None:
        """Ask the held-out words now."""
        began = time.monotonic()
        loss = masked_word_loss(self.network, self.vocabulary, self.asked).per_character
        self.points.append(Point(self.step, self.step * self.a_step, self.seconds, loss))
        self.spent += time.monotonic() - began if self.began else 0.0
        self.told = 0.0

    def tell(self) -> None:
        """Keep what was heard where `read_curve` finds it; a full disk does not end a training."""
        self.told = time.monotonic()
        with suppress(OSError):
            write_atomically(self.folder / CURVE, json.dumps(self.curve.to_dict()))


def _start(folder: Path) -> int:
    """The step of the checkpoint from which a training goes on; 0 where it begins."""
    checkpoint = find_checkpoint(folder)
    return int(Path(checkpoint).name.removeprefix("checkpoint-")) if checkpoint else 0
