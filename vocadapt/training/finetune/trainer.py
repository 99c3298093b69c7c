"""The training itself: batches → steps on transformers' Trainer, the dev score after every epoch,
the best epoch kept.
"""

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
from vocadapt.training.finetune.mixture import FinetuningDataset, select_inputs
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.labels import IGNORE_INDEX
from vocadapt.training.schedules import SCHEDULES

if TYPE_CHECKING:
    import torch
    import transformers

CURVE = 200  # points that the loss curve keeps
BEST = "best.safetensors"
FULL = ("out of memory", "can't allocate memory")  # how torch says it, on a GPU and on the CPU


@dataclass(frozen=True)
class FitResult:
    """How it went: the dev score after each epoch, step and mean loss, examples read, what to
    know.
    """

    dev: tuple[float, ...]
    curve: tuple[tuple[int, float], ...]
    examples: int
    findings: tuple[str, ...] = ()


def fit(
    network: "transformers.PreTrainedModel",
    reading: FinetuningDataset,
    settings: FinetuneSettings,
    folder: Path,
    score: Callable[[], float] | None,
    progress: Progress,
) -> FitResult:
    """Train `network` in place; with `score` it ends as it was after its best epoch.

    Goes on from the newest checkpoint in `folder`, to the same weights as if it had never stopped.
    Raises InputError where the loss is no longer a number, and where one example alone is too much
    for the memory.
    """
    if not any(value.requires_grad for value in network.parameters()):
        raise InputError("Nothing is left to be trained.", "Choose another --freeze.")
    epochs = Epochs(network, reading, settings, folder, score)
    trainer = _trainer(network, reading, settings, folder, progress)
    trainer.add_callback(epochs.callback())
    trainer.train(resume_from_checkpoint=find_checkpoint(folder))
    check_weights(network, len(reading), settings.lr)
    network.eval()
    _check_last_loss(trainer, network, reading, settings.lr)
    epochs.restore()
    curve = tuple(
        (int(row["step"]), float(row["loss"])) for row in trainer.state.log_history if "loss" in row
    )
    done = trainer.state.global_step / reading.steps
    items = len(reading.drawn(0))
    parts = getattr(trainer, "parts", 1)
    findings = (
        [f"Memory was short: batches of {settings.batch} were read in {parts} parts."]
        if parts > 1
        else []
    )
    if epochs.stopped:
        ended = f"Stopped after epoch {len(epochs.scores)} of {settings.epochs}"
        findings.append(f"{ended}: {settings.patience} without a better dev score.")
    if epochs.scores and epochs.best < len(epochs.scores) - 1:
        findings.append(f"The weights are those of epoch {epochs.best + 1}, the best on dev.")
    return FitResult(tuple(epochs.scores), curve, round(done * items), tuple(findings))


def _check_last_loss(trainer: Any, network: Any, reading: FinetuningDataset, lr: float) -> None:
    """Raise InputError if the loss of the trained network on the last batch is not finite."""
    import torch

    inputs = trainer._prepare_inputs(
        {name: value[:1] for name, value in reading[len(reading) - 1].items()}
    )
    with torch.no_grad():
        loss = trainer.compute_loss(network, inputs | {"whole": max(1, asked(inputs["labels"]))})
    steps = f"{len(reading):,}"
    check_finite(float(loss), f"step {steps} of {steps}", lr, "The loss of the trained network is")


class Epochs:
    """The dev score after every epoch, and the weights of the best one, on disk so that a training
    that goes on has them.
    """

    def __init__(
        self,
        network: Any,
        reading: FinetuningDataset,
        settings: FinetuneSettings,
        folder: Path,
        score: Callable[[], float] | None,
    ) -> None:
        self.network, self.steps, self.patience = network, reading.steps, settings.patience
        self.folder, self.score = folder, score
        self.scores: list[float] = []
        self.stopped = False
        if (folder / DEV).is_file():
            self.scores = json.loads((folder / DEV).read_text(encoding="utf-8"))

    @property
    def best(self) -> int:
        """The epoch with the best score, the first of equals."""
        return self.scores.index(max(self.scores))

    def ended(self, step: int) -> bool:
        """After a step: score where it ends an epoch; whether to stop."""
        if self.score is None or step % self.steps:
            return False
        epoch = step // self.steps - 1
        del self.scores[
            epoch:
        ]  # what was scored after the checkpoint is scored again, and comes out the same
        self.scores.append(self.score())
        if self.best == epoch:
            self._keep()
        write_atomically(self.folder / DEV, json.dumps(self.scores))
        self.stopped = bool(self.patience) and epoch - self.best >= self.patience
        return self.stopped

    def restore(self) -> None:
        """Give the network the weights of its best epoch."""
        from safetensors.torch import load_file

        if self.scores and self.best < len(self.scores) - 1:
            self.network.load_state_dict(load_file(self.folder / BEST), strict=True)

    def _keep(self) -> None:
        from safetensors.torch import save_file

        draft = self.folder / f"{BEST}.part"
        save_file(
            {
                name: value.detach().cpu().contiguous()
                for name, value in self.network.state_dict().items()
            },
            draft,
        )
        draft.replace(self.folder / BEST)

    def callback(self) -> Any:
        """As a callback of the Trainer."""
        from transformers import TrainerCallback

        epochs = self

        class Scored(TrainerCallback):
            """Scores after every epoch, and keeps the losses so far where they can be watched."""

            def on_log(self, args: Any, state: Any, control: Any, **more: Any) -> None:
                write_curve(epochs.folder, state.log_history, epochs.steps, state.max_steps)

            def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
                if epochs.ended(state.global_step):
                    control.should_training_stop = True

        return Scored()


def loss_of(logits: "torch.Tensor", labels: "torch.Tensor", whole: int) -> "torch.Tensor":
    """Cross-entropy summed over the targets that are asked, over the number of them in the whole
    batch.

    `labels` (batch, pieces) or (batch,) of outputs by number; or, where any number may hold,
    (batch, outputs) of 0 and 1.
    """
    import torch

    if labels.is_floating_point():
        return (
            torch.nn.functional.binary_cross_entropy_with_logits(
                logits.float(), labels, reduction="sum"
            )
            / whole
        )
    flat = logits.float().reshape(-1, logits.shape[-1])
    return (
        torch.nn.functional.cross_entropy(
            flat, labels.reshape(-1), ignore_index=IGNORE_INDEX, reduction="sum"
        )
        / whole
    )


def question_loss(
    start: "torch.Tensor",
    end: "torch.Tensor",
    labels: "torch.Tensor",
    mask: "torch.Tensor",
    whole: int,
) -> Any:
    """Cross-entropy of the places of an answer's first and last piece, (batch, 2), among all that
    are read.
    """
    import torch

    scores = (logits.float().masked_fill(mask == 0, -torch.inf) for logits in (start, end))
    losses = (
        torch.nn.functional.cross_entropy(own, labels[:, side], reduction="sum")
        for side, own in enumerate(scores)
    )
    return sum(losses) / whole


def asked(labels: "torch.Tensor") -> int:
    """How many targets count."""
    return labels.numel() if labels.is_floating_point() else int((labels != IGNORE_INDEX).sum())


def _trainer(
    network: "transformers.PreTrainedModel",
    reading: FinetuningDataset,
    settings: FinetuneSettings,
    folder: Path,
    progress: Progress,
) -> "transformers.Trainer":
    """Transformers' Trainer, told to take whole batches in the order given, to halve them where
    memory is short.
    """
    watching = build_progress_callback(
        len(reading), settings.batch, "examples", settings.save_minutes, progress
    )
    trainer = _batch_trainer(network, len(reading), settings.lr)(
        model=network,
        args=_arguments(reading, settings, folder),
        train_dataset=reading,
        data_collator=lambda steps: steps[0],
        callbacks=[watching],
    )
    remove_printers(trainer)
    return trainer


def _arguments(
    reading: FinetuningDataset, settings: FinetuneSettings, folder: Path
) -> "transformers.TrainingArguments":
    """The settings as the Trainer takes them; its own batch is one, an item of the reading being a
    whole step.
    """
    import torch
    from transformers import TrainingArguments

    half = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=len(reading),
        per_device_train_batch_size=1,
        learning_rate=settings.lr,
        warmup_steps=round(settings.warm_up * len(reading)),
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.clip,
        lr_scheduler_type=SCHEDULES[settings.schedule].trainer,
        optim="adamw_torch_fused",
        train_sampling_strategy="sequential",
        save_strategy="no",
        save_total_limit=1,
        logging_steps=max(1, len(reading) // CURVE),
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        seed=reading.seed,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        bf16=half,
    )
    return limit_to_one_device(arguments)


def _batch_trainer(
    network: "transformers.PreTrainedModel", steps: int, lr: float
) -> "type[transformers.Trainer]":
    """A Trainer that reads a batch in parts where memory is short; `steps` and `lr` are told where
    the loss is no number.
    """
    import torch
    from transformers import Trainer

    class BatchTrainer(Trainer):
        """Reads a batch in as many parts as memory needs."""

        parts = 1

        def training_step(
            self, model: Any, inputs: Any, num_items_in_batch: Any = None
        ) -> "torch.Tensor":
            while True:
                try:
                    return self._in_parts(model, inputs)
                except RuntimeError as error:
                    if not any(said in str(error) for said in FULL):
                        raise
                    _halve(self, model, len(inputs["input_ids"]), error)

        def _in_parts(self, model: Any, inputs: Any) -> "torch.Tensor":
            whole = asked(inputs["labels"])
            rows = -(-len(inputs["input_ids"]) // self.parts)
            total = torch.zeros((), device=self.args.device)
            for start in range(0, len(inputs["input_ids"]), rows):
                portion = {name: value[start : start + rows] for name, value in inputs.items()} | {
                    "whole": whole
                }
                total = total + super().training_step(model, portion)
            check_finite(float(total), f"step {self.state.global_step + 1:,} of {steps:,}", lr)
            return total

        def compute_loss(
            self,
            model: Any,
            inputs: Any,
            return_outputs: bool = False,
            num_items_in_batch: Any = None,
        ) -> Any:
            labels, whole = inputs["labels"], inputs["whole"]
            read = {
                name: value for name, value in inputs.items() if name not in ("labels", "whole")
            }
            said = model(**select_inputs(network, read))
            if "start_logits" in said:
                return question_loss(
                    said.start_logits, said.end_logits, labels, read["attention_mask"], whole
                )
            return loss_of(said.logits, labels, max(1, whole))

    return BatchTrainer


def _halve(trainer: Any, model: Any, rows: int, error: RuntimeError) -> None:
    """Read batches in twice as many parts from now on; raises InputError where one example is
    already too much.
    """
    if trainer.parts >= rows:
        raise InputError(
            "One example alone needs more memory than there is"
            f" ({str(error).splitlines()[0][:120]}).",
            "Give a smaller --max-length, or a smaller model.",
        ) from error
    trainer.parts *= 2
    model.zero_grad()
