"""Masked-language-model training with whole-word masking, on transformers' Trainer."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.models.contextual.masked_loss import get_masked_head
from vocadapt.progress import Progress, silent
from vocadapt.training.callbacks import (
    build_progress_callback,
    build_step_callback,
    check_weights,
    find_checkpoint,
    limit_to_one_device,
    remove_printers,
)
from vocadapt.training.masked.blocks import Blocks, MaskedBlockDataset
from vocadapt.training.masked.budget import count_steps
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.schedules import SCHEDULES

if TYPE_CHECKING:
    import torch
    import transformers

CURVE = 200  # points of the loss curve


@dataclass(frozen=True)
class TrainingResult:
    """Figures of a finished training: wordpieces read, steps, seconds, numbers of trainable and
    frozen parameters, and loss curves.

    curve: (step, mean loss in nats per masked token); next_curve: the same for next-sentence
    prediction, empty without it.
    """

    tokens: int
    steps: int
    seconds: float
    trainable: int
    frozen: int
    curve: tuple[tuple[int, float], ...]
    next_curve: tuple[tuple[int, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        report: dict[str, Any] = {
            "tokens": self.tokens,
            "steps": self.steps,
            "seconds": self.seconds,
            "tokens_per_second": self.tokens / self.seconds if self.seconds else 0.0,
            "trainable": self.trainable,
            "frozen": self.frozen,
            "curve": [list(point) for point in self.curve],
        }
        if self.next_curve:
            report["next_curve"] = [list(point) for point in self.next_curve]
        return report


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
    blocks and the same masked positions. `after_step` is called with the number of each finished
    step. Raises InputError for a network without a masked-language-model head, and if the training
    diverges.
    """
    get_masked_head(network)
    start = time.perf_counter()
    with override_dropout(network, settings.dropout):
        steps = count_steps(network, blocks, settings, folder, progress)
        n_blocks = steps * settings.batch
        dataset = MaskedBlockDataset(blocks, n_blocks, settings.share, settings.seed)
        trainer = _build_trainer(network, dataset, settings, steps, folder, progress)
        if after_step is not None:
            trainer.add_callback(build_step_callback(after_step))
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
        curve=_read_curve(trainer.state.log_history, "loss"),
        next_curve=_read_curve(trainer.state.log_history, "next_loss"),
    )


def _read_curve(history: list[dict[str, float]], name: str) -> tuple[tuple[int, float], ...]:
    """Return (step, value) of a figure in a Trainer's log."""
    return tuple((int(row["step"]), float(row[name])) for row in history if name in row)


@contextmanager
def override_dropout(network: "torch.nn.Module", probability: float) -> Iterator[None]:
    """Set the probability of every dropout layer for the duration of a `with` block; fine-tuning
    later uses the model's own.
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


def _build_trainer(
    network: "transformers.PreTrainedModel",
    blocks: MaskedBlockDataset,
    settings: MaskedSettings,
    steps: int,
    folder: Path,
    progress: Progress,
) -> "transformers.Trainer":
    """Build the Trainer of this training, with our progress reports instead of printed ones."""
    from vocadapt.training.trainers import MaskedTokenTrainer

    reporter = build_progress_callback(
        steps, settings.batch * settings.length, "wordpieces", settings.save_minutes, progress
    )
    trainer = MaskedTokenTrainer(
        network,
        steps,
        settings.lr,
        settings.parts,
        args=_training_arguments(settings, steps, folder),
        train_dataset=blocks,
        callbacks=[reporter],
    )
    remove_printers(trainer)
    return trainer


def _training_arguments(
    settings: MaskedSettings, steps: int, folder: Path
) -> "transformers.TrainingArguments":
    """Translate the settings into transformers' TrainingArguments."""
    from transformers import TrainingArguments

    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        per_device_train_batch_size=settings.batch // settings.parts,
        gradient_accumulation_steps=settings.parts,
        learning_rate=settings.lr,
        warmup_steps=round(settings.warm_up * steps),
        weight_decay=settings.weight_decay,
        lr_scheduler_type=SCHEDULES[settings.schedule].trainer,
        optim="adamw_torch_fused",
        train_sampling_strategy="sequential",
        save_strategy="no",
        save_total_limit=1,
        logging_steps=max(1, steps // CURVE),
        report_to="none",
        disable_tqdm=True,
        seed=settings.seed,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
    )
    return limit_to_one_device(arguments)
