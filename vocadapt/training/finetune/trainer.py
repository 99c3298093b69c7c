"""Fine-tuning on transformers' Trainer: dev score after every epoch, the best epoch kept."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.progress import Progress
from vocadapt.training.callbacks import (
    DEV,
    build_progress_callback,
    check_finite,
    check_weights,
    find_checkpoint,
    limit_to_one_device,
    remove_printers,
    write_atomically,
    write_curve,
)
from vocadapt.training.finetune.losses import count_labels
from vocadapt.training.finetune.mixture import FinetuningDataset
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.schedules import SCHEDULES

if TYPE_CHECKING:
    import transformers

    from vocadapt.training.trainers import FinetuningTrainer

CURVE = 200  # points of the loss curve
BEST = "best.safetensors"


@dataclass(frozen=True)
class FitResult:
    """Figures of a finished training: dev score after each epoch, (step, mean loss), number of
    examples read, and findings to report.
    """

    dev: tuple[float, ...]
    curve: tuple[tuple[int, float], ...]
    examples: int
    findings: tuple[str, ...] = ()


def fit(
    network: "transformers.PreTrainedModel",
    dataset: FinetuningDataset,
    settings: FinetuneSettings,
    folder: Path,
    score: Callable[[], float] | None,
    progress: Progress,
) -> FitResult:
    """Train `network` in place; with `score` it ends with the weights of its best epoch.

    Resumes from the newest checkpoint in `folder`, with the same resulting weights. Raises
    InputError if the loss is not finite, and if a single example does not fit in memory.
    """
    if not any(value.requires_grad for value in network.parameters()):
        raise InputError("No parameter is left to train.", "Choose another way to freeze.")
    epochs = EpochScorer(network, dataset, settings, folder, score)
    trainer = _build_trainer(network, dataset, settings, folder, progress)
    trainer.add_callback(epochs.build_callback())
    trainer.train(resume_from_checkpoint=find_checkpoint(folder))
    check_weights(network, len(dataset), settings.lr)
    network.eval()
    _check_last_loss(trainer, network, dataset, settings.lr)
    epochs.restore_best()
    history = trainer.state.log_history
    curve = tuple((int(row["step"]), float(row["loss"])) for row in history if "loss" in row)
    epochs_done = trainer.state.global_step / dataset.steps
    examples = round(epochs_done * len(dataset.draw_items(0)))
    findings = _describe_training(epochs, settings, trainer.parts)
    return FitResult(tuple(epochs.scores), curve, examples, findings)


def _describe_training(
    epochs: "EpochScorer", settings: FinetuneSettings, parts: int
) -> tuple[str, ...]:
    """Report memory shortage, early stopping, and restored weights."""
    findings = []
    if parts > 1:
        findings.append(
            f"Memory was short: batches of {settings.batch} were read in {parts} parts."
        )
    if epochs.stopped:
        ended = f"Stopped after epoch {len(epochs.scores)} of {settings.epochs}"
        findings.append(f"{ended}: {settings.patience} without a better dev score.")
    if epochs.scores and epochs.best < len(epochs.scores) - 1:
        findings.append(f"The weights are those of epoch {epochs.best + 1}, the best on dev.")
    return tuple(findings)


def _check_last_loss(
    trainer: Any, network: Any, dataset: FinetuningDataset, learning_rate: float
) -> None:
    """Raise InputError if the loss of the trained network on the last batch is not finite."""
    import torch

    last = {name: value[:1] for name, value in dataset[len(dataset) - 1].items()}
    inputs = trainer._prepare_inputs(last)
    labels_in_batch = max(1, count_labels(inputs["labels"]))
    with torch.no_grad():
        loss = trainer.compute_loss(network, inputs | {"labels_in_batch": labels_in_batch})
    step = f"step {len(dataset):,} of {len(dataset):,}"
    check_finite(float(loss), step, learning_rate, "The loss of the trained network is")


class EpochScorer:
    """Scores the dev split after every epoch and keeps the best weights on disk, so that a resumed
    training has them.
    """

    def __init__(
        self,
        network: Any,
        dataset: FinetuningDataset,
        settings: FinetuneSettings,
        folder: Path,
        score: Callable[[], float] | None,
    ) -> None:
        self.network, self.steps, self.patience = network, dataset.steps, settings.patience
        self.folder, self.score = folder, score
        self.scores: list[float] = []
        self.stopped = False
        if (folder / DEV).is_file():
            self.scores = json.loads((folder / DEV).read_text(encoding="utf-8"))

    @property
    def best(self) -> int:
        """Index of the epoch with the best score, the first of equal ones."""
        return self.scores.index(max(self.scores))

    def finish_step(self, step: int) -> bool:
        """Score the dev split if this step ends an epoch; returns whether to stop training."""
        if self.score is None or step % self.steps:
            return False
        epoch = step // self.steps - 1
        # Epochs after the checkpoint are scored again, with the same results.
        del self.scores[epoch:]
        self.scores.append(self.score())
        if self.best == epoch:
            self._save_weights()
        write_atomically(self.folder / DEV, json.dumps(self.scores))
        self.stopped = bool(self.patience) and epoch - self.best >= self.patience
        return self.stopped

    def restore_best(self) -> None:
        """Load the weights of the best epoch into the network."""
        from safetensors.torch import load_file

        if self.scores and self.best < len(self.scores) - 1:
            self.network.load_state_dict(load_file(self.folder / BEST), strict=True)

    def _save_weights(self) -> None:
        from safetensors.torch import save_file

        state = self.network.state_dict()
        draft = self.folder / f"{BEST}.part"
        save_file({name: value.detach().cpu().contiguous() for name, value in state.items()}, draft)
        draft.replace(self.folder / BEST)

    def build_callback(self) -> Any:
        """Build the Trainer callback that scores after every epoch and writes the loss curve."""
        from transformers import TrainerCallback

        epochs = self

        class ScoringCallback(TrainerCallback):
            """Writes the losses so far, for the live chart, and scores after every epoch."""

            def on_log(self, args: Any, state: Any, control: Any, **more: Any) -> None:
                write_curve(epochs.folder, state.log_history, epochs.steps, state.max_steps)

            def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
                if epochs.finish_step(state.global_step):
                    control.should_training_stop = True

        return ScoringCallback()


def _build_trainer(
    network: "transformers.PreTrainedModel",
    dataset: FinetuningDataset,
    settings: FinetuneSettings,
    folder: Path,
    progress: Progress,
) -> "FinetuningTrainer":
    """Build the Trainer of this training: it takes whole batches in the dataset's order, with our
    progress reports instead of printed ones.
    """
    from vocadapt.training.trainers import FinetuningTrainer

    reporter = build_progress_callback(
        len(dataset), settings.batch, "examples", settings.save_minutes, progress
    )
    trainer = FinetuningTrainer(
        network,
        len(dataset),
        settings.lr,
        args=_training_arguments(dataset, settings, folder),
        train_dataset=dataset,
        data_collator=lambda steps: steps[0],
        callbacks=[reporter],
    )
    remove_printers(trainer)
    return trainer


def _training_arguments(
    dataset: FinetuningDataset, settings: FinetuneSettings, folder: Path
) -> "transformers.TrainingArguments":
    """Translate the settings into TrainingArguments; the Trainer's batch size is 1, because an item
    of the dataset is a whole batch.
    """
    import torch
    from transformers import TrainingArguments

    half = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=len(dataset),
        per_device_train_batch_size=1,
        learning_rate=settings.lr,
        warmup_steps=round(settings.warm_up * len(dataset)),
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.clip,
        lr_scheduler_type=SCHEDULES[settings.schedule].trainer,
        optim="adamw_torch_fused",
        train_sampling_strategy="sequential",
        save_strategy="no",
        save_total_limit=1,
        logging_steps=max(1, len(dataset) // CURVE),
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        seed=dataset.seed,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        bf16=half,
    )
    return limit_to_one_device(arguments)
