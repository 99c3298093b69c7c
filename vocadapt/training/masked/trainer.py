"""Whole-word masked training of a network that has a masked-word head, on transformers' Trainer."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.models.contextual.masked_loss import head_on
from vocadapt.progress import Progress, silent
from vocadapt.settings import (
    LARGEST_RATE,
    LARGEST_SEED,
    MINUTES_PER_YEAR,
    SMALLEST,
    bounded,
    check_settings,
)
from vocadapt.training.callbacks import (
    build_progress_callback,
    build_step_callback,
    check_finite,
    check_weights,
    find_checkpoint,
    limit_to_one_device,
    remove_printers,
)
from vocadapt.training.labels import IGNORE_INDEX
from vocadapt.training.masked.blocks import Blocks, MaskedBlockDataset
from vocadapt.training.masked.budget import count_steps
from vocadapt.training.masked.losses import losses
from vocadapt.training.schedules import SCHEDULES, check_schedule

if TYPE_CHECKING:
    import torch
    import transformers

TRAINABLE = "moving.safetensors"  # in a checkpoint: the weights that are trained
CURVE = 200  # points that the loss curve keeps
NEXT_LOSS = "next_loss"
BUDGETS = ("hours", "tokens", "epochs")  # the first that is given counts


@dataclass(frozen=True)
class MaskedSettings:
    """How masked-word training goes: blocks of `length` wordpieces, `batch` blocks a step, AdamW
    under a rate that rises over the `warm_up` and then goes as `schedule` says (SCHEDULES).

    The budget is `hours` where given, else `tokens` (wordpieces read), else `epochs`. An hours
    budget is turned into steps by the pace of the first ones. `save_minutes` lie between two
    checkpoints. A step is read in so many `parts`, which is another way to the same gradient where
    memory is short: each wordpiece that is asked weighs alike, in whichever part. Raises InputError
    for values without sense.
    """

    length: int = bounded(128, 8, 4096, "Block length")
    batch: int = bounded(16, 1, 65_536, "Batch size")
    lr: float = bounded(1e-3, SMALLEST, LARGEST_RATE, "Learning rate")
    epochs: float = bounded(1.0, SMALLEST, 10_000, "Epochs")
    tokens: int = bounded(0, 0, 10**13, "Tokens to read")
    hours: float = bounded(0.0, 0, 10_000, "Hours of training")
    warm_up: float = bounded(0.06, 0, 0.999, "Warmup ratio")
    weight_decay: float = bounded(0.01, 0, 100, "Weight decay")
    share: float = bounded(0.15, 0, 0.999, "Masking probability")
    # A short training reads nothing twice and cannot overfit (Geiping & Goldstein 2023, 4.3).
    dropout: float = bounded(0.0, 0, 0.999, "Dropout")
    save_minutes: float = bounded(5.0, SMALLEST, MINUTES_PER_YEAR, "Minutes between checkpoints")
    seed: int = bounded(1, 0, LARGEST_SEED, "Seed of the training")
    parts: int = bounded(1, 1, 65_536, "Gradient accumulation steps")
    schedule: str = "linear"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.batch % self.parts:
            fitting = ", ".join(
                str(parts) for parts in range(1, self.batch + 1) if self.batch % parts == 0
            )
            raise InputError(
                f"Masked training: a batch of {self.batch} cannot be read in {self.parts} equal"
                " parts.",
                f"Choose one of: {fitting}.",
            )
        check_schedule(self.schedule)

    @property
    def budget(self) -> str:
        """Which of BUDGETS counts."""
        return next((name for name in ("hours", "tokens") if getattr(self, name)), "epochs")

    def with_changes(self, **changes: Any) -> "MaskedSettings":
        """These settings, some of them changed; a budget among the changes takes the place of the
        one there was.
        """
        if any(name in changes for name in BUDGETS):
            changes = {
                name: MaskedSettings.__dataclass_fields__[name].default for name in BUDGETS
            } | changes
        return replace(self, **changes)


@dataclass(frozen=True)
class TrainingResult:
    """How a training went: wordpieces read, steps, seconds, parameters that moved and that did not,
    the loss as it fell.
    """

    tokens: int
    steps: int
    seconds: float
    trainable: int
    frozen: int
    curve: tuple[tuple[int, float], ...]  # step, mean loss in nats per asked wordpiece
    next_curve: tuple[
        tuple[int, float], ...
    ] = ()  # the same of the next sentences, where they are asked: counted apart

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        pace = self.tokens / self.seconds if self.seconds else 0.0
        numbers = {
            "tokens": self.tokens,
            "steps": self.steps,
            "seconds": self.seconds,
            "tokens_per_second": pace,
        }
        told = {
            **numbers,
            "trainable": self.trainable,
            "frozen": self.frozen,
            "curve": [list(point) for point in self.curve],
        }
        return told | (
            {"next_curve": [list(point) for point in self.next_curve]} if self.next_curve else {}
        )


def train_masked(
    network: "transformers.PreTrainedModel",
    blocks: Blocks,
    settings: MaskedSettings,
    folder: Path,
    progress: Progress = silent,
    each: Callable[[int], None] | None = None,
) -> TrainingResult:
    """Train `network` in place; what is trainable is what requires a gradient. `each` is called
    after every step.

    Checkpoints go to `folder`, and where it holds one already the training goes on from there, over
    the same blocks under the same masks. Raises InputError for a network without a masked-word
    head, and for a training that diverges.
    """
    head_on(network)
    start = time.perf_counter()
    with override_dropout(network, settings.dropout):
        steps = count_steps(network, blocks, settings, folder, progress)
        reading = MaskedBlockDataset(blocks, steps * settings.batch, settings.share, settings.seed)
        trainer = _trainer(network, reading, settings, steps, folder, progress)
        if each is not None:
            trainer.add_callback(build_step_callback(each))
        trainer.train(resume_from_checkpoint=find_checkpoint(folder))
        check_weights(network, steps, settings.lr)
    network.eval()
    curve, next_curve = (_curve(trainer.state.log_history, name) for name in ("loss", NEXT_LOSS))
    sizes = [(value.numel(), value.requires_grad) for value in network.parameters()]
    trainable = sum(size for size, moves in sizes if moves)
    frozen = sum(size for size, moves in sizes if not moves)
    seconds = time.perf_counter() - start
    return TrainingResult(
        steps * settings.batch * settings.length,
        steps,
        seconds,
        trainable,
        frozen,
        curve,
        next_curve,
    )


def _curve(history: list[dict[str, float]], name: str) -> tuple[tuple[int, float], ...]:
    return tuple((int(row["step"]), float(row[name])) for row in history if name in row)


@contextmanager
def override_dropout(network: "torch.nn.Module", share: float) -> Iterator[None]:
    """Let every dropout of a network drop this share; afterwards each has its own again, for
    whoever fine-tunes it.
    """
    import torch

    own = {layer: layer.p for layer in network.modules() if isinstance(layer, torch.nn.Dropout)}
    for layer in own:
        layer.p = share
    try:
        yield
    finally:
        for layer, share_of_its_own in own.items():
            layer.p = share_of_its_own


def trainable_parameters(network: "torch.nn.Module") -> "dict[str, torch.nn.Parameter]":
    """The parameters that are trained, by name; shared ones once."""
    return {name: value for name, value in network.named_parameters() if value.requires_grad}


def _trainer(
    network: "transformers.PreTrainedModel",
    reading: MaskedBlockDataset,
    settings: MaskedSettings,
    steps: int,
    folder: Path,
    progress: Progress,
) -> "transformers.Trainer":
    """Transformers' Trainer, told to read in the order given, to score asked positions only, and to
    report itself.
    """
    watching = build_progress_callback(
        steps, settings.batch * settings.length, "wordpieces", settings.save_minutes, progress
    )
    trainer = _masked_trainer(network, steps, settings.lr, settings.parts)(
        model=network,
        args=_arguments(settings, steps, folder),
        train_dataset=reading,
        callbacks=[watching],
    )
    remove_printers(trainer)
    trainer.model_accepts_loss_kwargs = (
        settings.parts > 1
    )  # then it counts what is asked in all parts of a step
    return trainer


def _arguments(
    settings: MaskedSettings, steps: int, folder: Path
) -> "transformers.TrainingArguments":
    """The settings as the Trainer takes them."""
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


def _masked_trainer(
    network: "transformers.PreTrainedModel", steps: int, lr: float, parts: int
) -> "type[transformers.Trainer]":
    """A Trainer whose checkpoints hold only what moves in `network`; `steps` and `lr` are told
    where the loss is no number.
    """
    import torch
    from transformers import Trainer

    class MaskedWordTrainer(Trainer):
        """Computes the loss at asked positions, without scores for the rest; that of next sentences
        is added, and told apart.
        """

        apart: list[tuple[float, float]] = []  # noqa: RUF012 (a Trainer has one life)

        def compute_loss(
            self,
            model: Any,
            inputs: Any,
            return_outputs: bool = False,
            num_items_in_batch: Any = None,
        ) -> Any:
            found = torch.stack(losses(model, inputs))
            if (
                num_items_in_batch is not None
            ):  # a part of a step: each asked wordpiece, and each pair, weighs as in the whole
                asked = (inputs["labels"] != IGNORE_INDEX).sum() / max(1, int(num_items_in_batch))
                found = (
                    found * torch.stack([asked, torch.full_like(asked, 1 / parts)])[: len(found)]
                )
            if len(found) == 2:
                self.apart.append(tuple((found.detach() * parts).tolist()))
            loss = found.sum()
            check_finite(
                float(loss.detach()), f"step {self.state.global_step + 1:,} of {steps:,}", lr
            )
            return (loss, {}) if return_outputs else loss

        def log(self, logs: dict[str, float], *more: Any, **named: Any) -> None:
            if "loss" in logs and self.apart:
                masked, following = (
                    sum(column) / len(self.apart) for column in zip(*self.apart, strict=True)
                )
                logs |= {"loss": masked, NEXT_LOSS: following}
                self.apart.clear()
            super().log(logs, *more, **named)

        def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
            _save_moving(network, Path(output_dir or str(self.args.output_dir)))

        def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
            _load_moving(network, Path(resume_from_checkpoint))

    return MaskedWordTrainer


def _save_moving(network: "torch.nn.Module", folder: Path) -> None:
    """The weights that are trained, into a checkpoint."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file(
        {
            name: value.detach().cpu().contiguous()
            for name, value in trainable_parameters(network).items()
        },
        folder / TRAINABLE,
    )


def _load_moving(network: "torch.nn.Module", folder: Path) -> None:
    """They, back from a checkpoint, in place; raises InputError for one of another training."""
    import torch
    from safetensors.torch import load_file

    kept, there = load_file(folder / TRAINABLE), trainable_parameters(network)
    if set(kept) != set(there):
        raise InputError(f"{folder} is of another training.", "Remove it, or take another folder.")
    with torch.no_grad():
        for name, value in there.items():
            value.copy_(kept[name])
