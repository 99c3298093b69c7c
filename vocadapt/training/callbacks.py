"""Checkpoints, live charts, divergence checks and random states of trainings with transformers'
Trainer.

In addition to its checkpoints, a training writes two small files for live charts: curve.json and
dev.json.
"""

import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.system.files import write_atomically

if TYPE_CHECKING:
    import torch

MIN_TIMED_STEPS = 12  # steps to time before the speed is accurate enough to report
CURVE, DEV = "curve.json", "dev.json"


class StepClock:
    """Times the steps of a training in this process, without the first one, which includes the
    setup.

    Time between `finish_step` and `begin_step` is not counted, such as an evaluation.
    """

    def __init__(self) -> None:
        self.steps, self.seconds = 0, 0.0
        self._began: float | None = None

    def finish_step(self) -> None:
        """Count the step that has just ended, unless it is the first one."""
        if self._began is not None:
            self.steps += 1
            self.seconds += time.monotonic() - self._began

    def begin_step(self) -> None:
        """Start the time of the next step."""
        self._began = time.monotonic()

    def estimate_seconds(self, steps: int) -> float:
        """Return the seconds of a number of steps at the mean speed; 0 if no step was timed."""
        if not self.steps:
            return 0.0
        return steps * self.seconds / self.steps


@dataclass(frozen=True)
class Live:
    """State of a running training.

    curve: (step, mean loss). dev: dev score after each epoch. epoch: steps per epoch. steps: total
    number of steps. Both are 0 until they are known.
    """

    curve: tuple[tuple[int, float], ...] = ()
    dev: tuple[float, ...] = ()
    epoch: int = 0
    steps: int = 0


def read_live(folder: Path) -> Live:
    """Read the state of the training in a checkpoint folder; empty if nothing was written yet."""
    state: dict[str, Any] = {}
    dev: list[float] = []
    with suppress(OSError, ValueError):
        state = json.loads((folder / CURVE).read_text(encoding="utf-8"))
    with suppress(OSError, ValueError):
        dev = json.loads((folder / DEV).read_text(encoding="utf-8"))
    curve = tuple((int(step), float(loss)) for step, loss in state.get("curve", ()))
    return Live(curve, tuple(dev), state.get("epoch", 0), state.get("steps", 0))


def write_curve(folder: Path, history: Sequence[dict[str, float]], epoch: int, steps: int) -> None:
    """Write the losses in a Trainer's log for `read_live`; a full disk does not stop training."""
    state = {"curve": read_history(history), "epoch": epoch, "steps": steps}
    with suppress(OSError):
        write_atomically(folder / CURVE, json.dumps(state))


def read_history(
    history: Sequence[dict[str, float]], name: str = "loss"
) -> tuple[tuple[int, float], ...]:
    """Return the (step, value) pairs of a metric in a Trainer's log."""
    return tuple((int(row["step"]), float(row[name])) for row in history if name in row)


def find_checkpoint(folder: Path) -> str | None:
    """Return the newest complete checkpoint in a folder, or None.

    Incomplete checkpoints, which a killed process may leave, are skipped.
    """

    def read_step(checkpoint: Path) -> int:
        return int(checkpoint.name.removeprefix("checkpoint-"))

    for checkpoint in sorted(folder.glob("checkpoint-*"), key=read_step, reverse=True):
        with suppress(OSError, ValueError):
            # The Trainer writes this file last.
            json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
            return str(checkpoint)
    return None


def check_finite(value: float, step: str, lr: float, what: str = "The loss is") -> None:
    """Raise InputError if a loss or another value is not finite, because the training diverged."""
    if not math.isfinite(value):
        raise InputError(
            f"{what} {value} at {step}: the training diverged.",
            f"Lower the learning rate (it is {lr:g}) or the max gradient norm, or use a longer"
            " warmup. If it still diverges, check the model's weights.",
            code="diverged",
        )


def check_weights(network: "torch.nn.Module", steps: int, lr: float) -> None:
    """Raise InputError if the trained weights are not finite.

    The losses do not reveal this: the last loss is computed before the last update.
    """
    trained = [value for value in network.parameters() if value.requires_grad]
    weights = sum(float(value.detach().sum()) for value in trained)
    check_finite(weights, f"step {steps:,} of {steps:,}", lr, "The sum of the weights is")


@contextmanager
def preserve_random_state() -> Iterator[None]:
    """Restore the global random states of Python, NumPy and torch after a `with` block.

    The Trainer seeds all three.
    """
    import random

    import numpy as np
    import torch

    python = random.getstate()
    numpy = np.random.get_state()  # noqa: NPY002
    devices = range(torch.cuda.device_count())
    try:
        with torch.random.fork_rng(devices=list(devices)):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
