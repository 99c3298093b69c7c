"""Progress reports, checkpoints, divergence checks and random states of trainings on transformers'
Trainer.

Besides its checkpoints a training keeps two small files for live charts: curve.json and dev.json.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.progress import Progress, duration

if TYPE_CHECKING:
    import torch
    import transformers

TIMED = 12  # steps after which the pace tells something
CURVE, DEV = "curve.json", "dev.json"


@dataclass(frozen=True)
class Live:
    """State of a running training: (step, mean loss), the dev score after each epoch, steps per
    epoch and in all (0: not known yet).
    """

    curve: tuple[tuple[int, float], ...] = ()
    dev: tuple[float, ...] = ()
    epoch: int = 0
    steps: int = 0


def read_live(folder: Path) -> Live:
    """Read the state of the training with checkpoints in `folder`; empty if nothing was written
    yet.
    """
    state: dict[str, Any] = {}
    dev: list[float] = []
    with suppress(OSError, ValueError):
        state = json.loads((folder / CURVE).read_text(encoding="utf-8"))
    with suppress(OSError, ValueError):
        dev = json.loads((folder / DEV).read_text(encoding="utf-8"))
    curve = tuple((int(step), float(loss)) for step, loss in state.get("curve", ()))
    return Live(curve, tuple(dev), state.get("epoch", 0), state.get("steps", 0))


def write_curve(folder: Path, history: Sequence[dict[str, float]], epoch: int, steps: int) -> None:
    """Write the losses in a Trainer's log for `read_live`; a full disk does not end training."""
    curve = [[row["step"], row["loss"]] for row in history if "loss" in row]
    state = {"curve": curve, "epoch": epoch, "steps": steps}
    with suppress(OSError):
        write_atomically(folder / CURVE, json.dumps(state))


def write_atomically(path: Path, text: str) -> None:
    """Write a small text file so that readers see either the old or the whole new content."""
    draft = path.with_name(f"{path.name}.part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def find_checkpoint(folder: Path) -> str | None:
    """Return the newest complete checkpoint of a folder, None without one: a killed process may
    leave an incomplete one.
    """
    whole = [path for path in folder.glob("checkpoint-*") if _is_whole(path)]
    if not whole:
        return None
    return str(max(whole, key=lambda path: int(path.name.removeprefix("checkpoint-"))))


def _is_whole(checkpoint: Path) -> bool:
    """Return whether a checkpoint is complete, by the file that the Trainer writes last."""
    try:
        json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def build_progress_callback(
    steps: int, a_step: int, unit: str, save_minutes: float, progress: Progress
) -> Any:
    """Build a callback that reports each step and requests a checkpoint every `save_minutes`; a
    Progress that raises ends the training.

    a_step: number of units (wordpieces, examples) per step, for the reported speed.
    """
    from transformers import TrainerCallback

    class Watch(TrainerCallback):
        """Reports steps, loss, pace and time left."""

        def __init__(self) -> None:
            self.saved = self.started = time.monotonic()
            self.first: int | None = None
            self.loss = ""

        def on_log(
            self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any
        ) -> None:
            if logs and "loss" in logs:
                self.loss = f", loss {logs['loss']:.2f}"

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            now = time.monotonic()
            if self.first is None:
                self.first, self.started = state.global_step, now
            message = f"step {state.global_step:,} of {steps:,}{self.loss}"
            # The pace is measured from the end of the first step.
            if done := state.global_step - self.first:
                pace = done / (now - self.started)
                message += f", {pace * a_step:,.0f} {unit}/s"
                if done >= TIMED:
                    message += f", about {duration((steps - state.global_step) / pace)} left"
            progress(state.global_step / steps, message)
            if now - self.saved >= 60 * save_minutes:
                control.should_save, self.saved = True, now

    return Watch()


def build_step_callback(each: Callable[[int], None]) -> Any:
    """Build a callback that calls `each` with the number of every finished step."""
    from transformers import TrainerCallback

    class Calling(TrainerCallback):
        """Calls the function after each step."""

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            each(state.global_step)

    return Calling()


def check_finite(value: float, step: str, lr: float, what: str = "The loss is") -> None:
    """Raise InputError if a loss or another figure is not finite: the training diverged."""
    if not math.isfinite(value):
        raise InputError(
            f"{what} {value} at {step}: the training diverged.",
            f"Lower the learning rate (it is {lr:g}) or the max gradient norm, or use a longer"
            " warmup. If it still diverges, check the model's weights.",
        )


def check_weights(network: "torch.nn.Module", steps: int, lr: float) -> None:
    """Raise InputError if trained weights are not finite: the loss does not cover the last
    update.
    """
    trained = [value for value in network.parameters() if value.requires_grad]
    weights = sum(float(value.detach().sum()) for value in trained)
    check_finite(weights, f"step {steps:,} of {steps:,}", lr, "The sum of the weights is")


def limit_to_one_device(
    arguments: "transformers.TrainingArguments",
) -> "transformers.TrainingArguments":
    """Restrict the Trainer to one GPU: with several, each would read its own batch, which changes
    the training.
    """
    arguments._n_gpu = min(1, arguments.n_gpu)
    return arguments


def remove_printers(trainer: "transformers.Trainer") -> None:
    """Remove the Trainer's callbacks that print; our reports go through Progress."""
    for callback in [*trainer.callback_handler.callbacks]:
        if "Printer" in type(callback).__name__:
            trainer.remove_callback(callback)


@contextmanager
def preserve_random_state() -> Iterator[None]:
    """Restore the global random states of Python, NumPy and torch afterwards: the Trainer seeds
    them all.
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
