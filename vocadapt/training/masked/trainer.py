"""Masked-language-model training with whole-word masking by transformers' Trainer, and the
conversion of its budget to steps.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.models.contextual.masked_loss import MaskedWindow, check_masked_head
from vocadapt.progress import Progress, silent
from vocadapt.system.files import write_atomically
from vocadapt.training.callbacks import (
    MIN_TIMED_STEPS,
    check_weights,
    find_checkpoint,
    read_history,
)
from vocadapt.training.masked.blocks import Blocks, MaskedBlockDataset
from vocadapt.training.masked.losses import compute_losses
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.masked.validation import HeldOutCurve, HeldOutValidator
from vocadapt.training.trained_parameters import measure_optimizer

if TYPE_CHECKING:
    import torch
    import transformers


WARMUP_BATCHES = 3  # first batches of a measurement, which are slower and not counted
MEASURE_SECONDS = 10.0  # seconds of measurement for an accurate speed


@dataclass(frozen=True)
class TrainingResult:
    """Metrics of a finished training.

    tokens: number of wordpieces trained on. trainable, frozen: numbers of parameters. curve: (step,
    mean loss in nats per masked token). next_curve: the same for next-sentence prediction, empty
    without it. optimizer_bytes: size of the optimizer's state.
    """

    tokens: int
    steps: int
    seconds: float
    trainable: int
    frozen: int
    curve: tuple[tuple[int, float], ...]
    next_curve: tuple[tuple[int, float], ...] = ()
    optimizer_bytes: int = 0

    def list_metrics(self) -> dict[str, Any]:
        """Return the metrics by their names in a TrainingReport."""
        speed = self.tokens / self.seconds if self.seconds else 0.0
        return {**vars(self), "tokens_per_second": speed, "next_curve": self.next_curve or None}


def train_and_validate(
    network: "transformers.PreTrainedModel",
    blocks: Blocks,
    held_out: tuple[MaskedWindow, ...],
    settings: MaskedSettings,
    folder: Path,
    progress: Progress = silent,
    after_step: Callable[[int], None] | None = None,
) -> tuple[TrainingResult, HeldOutCurve]:
    """Train as `train_masked` does, and evaluate the loss on held-out windows at intervals.

    The seconds include those before an interruption.
    """
    validator = HeldOutValidator(
        network,
        blocks.vocabulary,
        held_out,
        folder,
        settings.batch * settings.length,
        lambda: count_steps(network, blocks, settings, folder),
    )

    def finish_step(step: int) -> None:
        validator(step)
        if after_step is not None:
            after_step(step)

    trained = train_masked(network, blocks, settings, folder, progress, finish_step)
    return replace(trained, seconds=validator.seconds or trained.seconds), validator.curve


def train_masked(
    network: "transformers.PreTrainedModel",
    blocks: Blocks,
    settings: MaskedSettings,
    folder: Path,
    progress: Progress = silent,
    after_step: Callable[[int], None] | None = None,
) -> TrainingResult:
    """Train the parameters of `network` that require a gradient, in place.

    Checkpoints are written to `folder`; if it holds one, training resumes from it with the same
    blocks and masked positions. after_step: called with the number of each finished step. Raises
    InputError if the network has no masked-language-model head, or if the training diverges.
    """
    from vocadapt.training.masked.masked_trainer import NEXT_LOSS, MaskedTokenTrainer
    from vocadapt.training.trainers import StepCallback

    check_masked_head(network)
    start = time.perf_counter()
    with override_dropout(network, settings.dropout):
        steps = count_steps(network, blocks, settings, folder, progress)
        n_blocks = steps * settings.batch
        dataset = MaskedBlockDataset(blocks, n_blocks, settings.share, settings.seed)
        trainer = MaskedTokenTrainer(network, dataset, settings, steps, folder, progress)
        if after_step is not None:
            trainer.add_callback(StepCallback(after_step))
        trainer.train(resume_from_checkpoint=find_checkpoint(folder))
        check_weights(network, steps, settings.lr)
    network.eval()
    trainable = sum(value.numel() for value in network.parameters() if value.requires_grad)
    return TrainingResult(
        tokens=n_blocks * settings.length,
        steps=steps,
        seconds=time.perf_counter() - start,
        trainable=trainable,
        frozen=sum(value.numel() for value in network.parameters()) - trainable,
        curve=read_history(trainer.state.log_history),
        next_curve=read_history(trainer.state.log_history, NEXT_LOSS),
        optimizer_bytes=measure_optimizer(trainer.optimizer),
    )


@contextmanager
def override_dropout(network: "torch.nn.Module", probability: float) -> Iterator[None]:
    """Set the probability of every dropout layer within a `with` block.

    The model's own probabilities are restored, for later fine-tuning.
    """
    import torch

    layers = [layer for layer in network.modules() if isinstance(layer, torch.nn.Dropout)]
    original = [layer.p for layer in layers]
    for layer in layers:
        layer.p = probability
    try:
        yield
    finally:
        for layer, own in zip(layers, original, strict=True):
            layer.p = own


def count_steps(
    network: "transformers.PreTrainedModel",
    blocks: Blocks,
    settings: MaskedSettings,
    folder: Path,
    progress: Progress = silent,
) -> int:
    """Return the budget in steps.

    A budget in hours is converted once and written to `folder`, so a resumed training has the same
    number of steps.
    """
    tokens_per_step = settings.batch * settings.length
    if not settings.hours:
        tokens = settings.tokens or settings.epochs * blocks.tokens
        return max(1, round(tokens / tokens_per_step))
    # A second measurement would change the learning-rate schedule of a resumed training.
    file = folder / "steps.txt"
    if not file.is_file():
        seconds = measure_step_seconds(network, blocks, settings, progress)
        write_atomically(file, str(max(1, round(settings.hours * 3600 / seconds))))
    return int(file.read_text(encoding="utf-8"))


def measure_step_seconds(
    network: "transformers.PreTrainedModel",
    blocks: Blocks,
    settings: MaskedSettings,
    progress: Progress = silent,
) -> float:
    """Measure the seconds per step on a copy of the network.

    1. Process batches of one gradient accumulation step each, for MEASURE_SECONDS.
    2. Leave out the first WARMUP_BATCHES of them.
    3. Add the time of one optimizer step, the second of two: the first also allocates its memory.
    """
    import copy

    import torch

    # 1. Forward and backward passes.
    device = "cuda" if torch.cuda.is_available() else "cpu"
    replica = copy.deepcopy(network).to(device).train()  # type: ignore[arg-type]
    trainable = [value for value in replica.parameters() if value.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-6)
    size = settings.batch // settings.parts
    max_batches = (WARMUP_BATCHES + MIN_TIMED_STEPS) * settings.parts
    dataset = MaskedBlockDataset(blocks, max_batches * size, settings.share, settings.seed)
    seconds: list[float] = []
    while len(seconds) < max_batches and (
        len(seconds) <= WARMUP_BATCHES or sum(seconds[WARMUP_BATCHES:]) < MEASURE_SECONDS
    ):
        items = range(len(seconds) * size, (len(seconds) + 1) * size)
        seconds.append(_time(partial(_accumulate_gradient, replica, dataset, items)))
        progress(0.0, f"measuring the speed: {len(seconds):,} of at most {max_batches:,} batches")

    # 2. and 3. Mean time of the other batches, and an optimizer step.
    _time(optimizer.step)
    update = _time(optimizer.step)
    measured = seconds[WARMUP_BATCHES:]
    return settings.parts * sum(measured) / len(measured) + update


def _accumulate_gradient(
    network: "transformers.PreTrainedModel", dataset: MaskedBlockDataset, items: range
) -> None:
    import torch

    examples = [dataset[item] for item in items]
    inputs = {}
    for key in examples[0]:
        rows = [example[key] for example in examples]
        inputs[key] = torch.stack(rows).to(network.device)
    torch.stack(compute_losses(network, inputs)).sum().backward()  # type: ignore[no-untyped-call]


def _time(function: Callable[[], Any]) -> float:
    """Return the seconds that a call takes, including its computation on the GPU."""
    import torch

    start = time.perf_counter()
    function()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start
