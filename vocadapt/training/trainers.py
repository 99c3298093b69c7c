"""Subclasses of transformers' Trainer and TrainerCallback.

Import this module inside functions only: it loads torch and transformers.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from accelerate.utils.memory import should_reduce_batch_size
from safetensors.torch import load_file, save_file

from vocadapt.errors import InputError
from vocadapt.progress import Progress, duration
from vocadapt.training.callbacks import MIN_TIMED_STEPS, check_finite, write_curve
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.finetune.tokenizations import FinetuningDataset, select_inputs
from vocadapt.training.labels import IGNORE_INDEX
from vocadapt.training.masked.blocks import MaskedBlockDataset
from vocadapt.training.masked.losses import compute_losses
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.schedules import SCHEDULES

CURVE_POINTS = 200  # points of the loss curve
NEXT_LOSS = "next_loss"  # name of the next-sentence loss in the log
TRAINABLE = "moving.safetensors"  # file of the trainable parameters in a checkpoint


class ProgressCallback(transformers.TrainerCallback):
    """Reports steps, loss, speed and time left, and requests a checkpoint every `save_minutes`.

    If the Progress raises an exception, the training ends. units_per_step: number of units
    (wordpieces, examples) per step, for the reported speed.
    """

    def __init__(
        self, steps: int, units_per_step: int, unit: str, save_minutes: float, progress: Progress
    ) -> None:
        self.steps, self.units_per_step, self.unit = steps, units_per_step, unit
        self.save_minutes, self.progress = save_minutes, progress
        self.saved = self.started = time.monotonic()
        self.first_step: int | None = None
        self.loss = ""

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
        """Remember the loss for the next report."""
        if logs and "loss" in logs:
            self.loss = f", loss {logs['loss']:.2f}"

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Report a step."""
        now, step = time.monotonic(), state.global_step
        # The first step includes the setup, so the speed is measured from its end.
        if self.first_step is None:
            self.first_step, self.started = step, now
        message = f"step {step:,} of {self.steps:,}{self.loss}"
        if done := step - self.first_step:
            speed = done / (now - self.started)
            message += f", {speed * self.units_per_step:,.0f} {self.unit}/s"
            if done >= MIN_TIMED_STEPS:
                message += f", about {duration((self.steps - step) / speed)} left"
        self.progress(step / self.steps, message)
        if now - self.saved >= 60 * self.save_minutes:
            control.should_save, self.saved = True, now


class StepCallback(transformers.TrainerCallback):
    """Calls a function after each step with the step's number; training ends if it returns True."""

    def __init__(self, after_step: Callable[[int], bool | None]) -> None:
        self.after_step = after_step

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Call the function."""
        if self.after_step(state.global_step):
            control.should_training_stop = True


class ReportingTrainer(transformers.Trainer):
    """Trainer on one device that reports through Progress instead of printing, and saves
    checkpoints of the trainable parameters at time intervals.

    options: TrainingArguments in addition to those set here.
    """

    def __init__(
        self,
        network: transformers.PreTrainedModel,
        dataset: FinetuningDataset | MaskedBlockDataset,
        settings: FinetuneSettings | MaskedSettings,
        steps: int,
        folder: Path,
        reporter: ProgressCallback,
        data_collator: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> None:
        arguments = transformers.TrainingArguments(
            output_dir=str(folder),
            max_steps=steps,
            learning_rate=settings.lr,
            warmup_steps=round(settings.warm_up * steps),
            weight_decay=settings.weight_decay,
            lr_scheduler_type=SCHEDULES[settings.schedule].trainer,
            optim="adamw_torch_fused",
            train_sampling_strategy="sequential",
            save_strategy="no",
            save_total_limit=1,
            logging_steps=max(1, steps // CURVE_POINTS),
            report_to="none",
            disable_tqdm=True,
            dataloader_pin_memory=False,
            remove_unused_columns=False,
            **options,
        )
        # With several GPUs the effective batch size would change.
        arguments._n_gpu = min(1, arguments.n_gpu)
        super().__init__(
            model=network,
            args=arguments,
            train_dataset=dataset,
            data_collator=data_collator,
            callbacks=[reporter],
        )
        self.network = network
        for callback in [*self.callback_handler.callbacks]:
            if "Printer" in type(callback).__name__:
                self.remove_callback(callback)

    def check_loss(self, loss: torch.Tensor) -> None:
        """Raise InputError if the loss of the current step is not finite."""
        step = f"step {self.state.global_step + 1:,} of {self.args.max_steps:,}"
        check_finite(float(loss.detach()), step, self.args.learning_rate)

    def _trainable_parameters(self) -> dict[str, torch.nn.Parameter]:
        """Return the parameters that require a gradient, by name; shared parameters once."""
        named = self.network.named_parameters()
        return {name: value for name, value in named if value.requires_grad}

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Write the trainable parameters into a checkpoint folder."""
        folder = Path(output_dir or str(self.args.output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        parameters = self._trainable_parameters()
        stored = {name: value.detach().cpu().contiguous() for name, value in parameters.items()}
        save_file(stored, folder / TRAINABLE)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        """Load the trainable parameters of a checkpoint.

        Raises InputError if the checkpoint has other parameters.
        """
        file = Path(resume_from_checkpoint) / TRAINABLE
        parameters = self._trainable_parameters()
        stored: dict[str, torch.Tensor] = {}
        if file.is_file():
            stored = load_file(file)
        if set(stored) != set(parameters):
            raise InputError(
                f"{resume_from_checkpoint} is a checkpoint of another training.",
                "Remove it, or choose another folder.",
            )
        with torch.no_grad():
            for name, value in parameters.items():
                value.copy_(stored[name])


class MaskedTokenTrainer(ReportingTrainer):
    """Trainer for masked-language modeling.

    It scores masked positions only, and logs the next-sentence loss separately.
    """

    def __init__(
        self,
        network: transformers.PreTrainedModel,
        dataset: MaskedBlockDataset,
        settings: MaskedSettings,
        steps: int,
        folder: Path,
        progress: Progress,
    ) -> None:
        tokens_per_step = settings.batch * settings.length
        super().__init__(
            network,
            dataset,
            settings,
            steps,
            folder,
            ProgressCallback(steps, tokens_per_step, "wordpieces", settings.save_minutes, progress),
            per_device_train_batch_size=settings.batch // settings.parts,
            gradient_accumulation_steps=settings.parts,
            seed=settings.seed,
        )
        # Masked-token and next-sentence loss of each batch since the last log.
        self._separate_losses: list[tuple[float, ...]] = []
        # If True, the Trainer counts the masked tokens of all gradient accumulation steps together.
        self.model_accepts_loss_kwargs = settings.parts > 1

    def compute_loss(
        self,
        model: Any,
        inputs: Any,
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the sum of the losses of a batch.

        With gradient accumulation, each masked token and each sentence pair has the same weight as
        in one large batch: the mean loss of a partial batch is scaled by its fraction of the whole
        batch.
        """
        losses = torch.stack(compute_losses(model, inputs))
        n_parts = self.args.gradient_accumulation_steps
        if num_items_in_batch is not None:
            masked = (inputs["labels"] != IGNORE_INDEX).sum()
            fraction = masked / max(1, int(num_items_in_batch))
            pair_fraction = torch.full_like(fraction, 1 / n_parts)
            losses = losses * torch.stack([fraction, pair_fraction])[: len(losses)]
        if len(losses) == 2:
            self._separate_losses.append(tuple((losses.detach() * n_parts).tolist()))
        loss = losses.sum()
        self.check_loss(loss)
        if return_outputs:
            return loss, {}
        return loss

    def log(self, logs: dict[str, float], *more: Any, **named: Any) -> None:
        """Log the masked-token and the next-sentence loss separately, if there are both."""
        if "loss" in logs and self._separate_losses:
            batches = len(self._separate_losses)
            masked, following = map(sum, zip(*self._separate_losses, strict=True))
            logs |= {"loss": masked / batches, NEXT_LOSS: following / batches}
            self._separate_losses.clear()
        super().log(logs, *more, **named)


class FinetuningTrainer(ReportingTrainer):
    """Trainer for fine-tuning: takes whole batches from the dataset, in its order, and processes a
    batch in several parts if memory is short.
    """

    def __init__(
        self,
        network: transformers.PreTrainedModel,
        dataset: FinetuningDataset,
        settings: FinetuneSettings,
        folder: Path,
        progress: Progress,
    ) -> None:
        steps = len(dataset)
        super().__init__(
            network,
            dataset,
            settings,
            steps,
            folder,
            ProgressCallback(steps, settings.batch, "examples", settings.save_minutes, progress),
            data_collator=lambda batches: batches[0],
            per_device_train_batch_size=1,  # an item of the dataset is a whole batch
            max_grad_norm=settings.clip,
            logging_nan_inf_filter=False,
            bf16=torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
            seed=dataset.seed,
        )
        self.dataset, self.folder = dataset, folder
        self.parts = 1  # number of parts that a batch is processed in

    def training_step(
        self, model: Any, inputs: Any, num_items_in_batch: Any = None
    ) -> torch.Tensor:
        """Train on a batch; double the number of parts, for all later batches too, until it fits in
        memory.

        Raises InputError if a single example does not fit.
        """
        while True:
            try:
                return self._train_in_parts(model, inputs)
            except RuntimeError as error:
                if not should_reduce_batch_size(error):
                    raise
                if self.parts >= len(inputs["input_ids"]):
                    raise InputError(
                        "A single example does not fit in memory"
                        f" ({str(error).splitlines()[0][:120]}).",
                        "Reduce the maximum sequence length, or use a smaller model.",
                    ) from error
                self.parts *= 2
                model.zero_grad()

    def _train_in_parts(self, model: Any, inputs: Any) -> torch.Tensor:
        labels_in_batch = count_labels(inputs["labels"])
        size = -(-len(inputs["input_ids"]) // self.parts)
        total = torch.zeros((), device=self.args.device)
        for start in range(0, len(inputs["input_ids"]), size):
            part = {name: value[start : start + size] for name, value in inputs.items()}
            part["labels_in_batch"] = labels_in_batch
            total = total + super().training_step(model, part)
        self.check_loss(total)
        return total

    def compute_loss(
        self,
        model: Any,
        inputs: Any,
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the loss of a batch or of a part of it."""
        labels, labels_in_batch = inputs["labels"], inputs["labels_in_batch"]
        features = dict(inputs)
        del features["labels"], features["labels_in_batch"]
        outputs = model(**select_inputs(self.network, features))
        if "start_logits" not in outputs:
            return compute_label_loss(outputs.logits, labels, max(1, labels_in_batch))
        return compute_question_loss(
            outputs.start_logits,
            outputs.end_logits,
            labels,
            features["attention_mask"],
            labels_in_batch,
        )

    def log(self, logs: dict[str, float], *more: Any, **named: Any) -> None:
        """Log the loss, and write the losses so far for the live chart."""
        super().log(logs, *more, **named)
        write_curve(self.folder, self.state.log_history, self.dataset.steps, self.state.max_steps)

    def check_last_loss(self) -> None:
        """Raise InputError if the trained network's loss on an example of the last batch is not
        finite.

        The loss of the last step does not show this: it is computed before the last update.
        """
        last = {name: value[:1] for name, value in self.dataset[len(self.dataset) - 1].items()}
        inputs = self._prepare_inputs(last)
        labels_in_batch = max(1, count_labels(inputs["labels"]))
        with torch.no_grad():
            loss = self.compute_loss(self.network, inputs | {"labels_in_batch": labels_in_batch})
        step = f"step {len(self.dataset):,} of {len(self.dataset):,}"
        check_finite(
            float(loss), step, self.args.learning_rate, "The loss of the trained network is"
        )


def compute_label_loss(
    logits: torch.Tensor, labels: torch.Tensor, labels_in_batch: int
) -> torch.Tensor:
    """Return the sum of the cross-entropies, divided by the number of labels in the whole batch.

    Thus the gradient is the same if the batch is processed in parts.

    logits: (batch, wordpieces, outputs) or (batch, outputs). labels: output numbers, (batch,
    wordpieces) or (batch,) int64; for multi-label tasks (batch, outputs) float32 of 0 and 1.
    """
    functional = torch.nn.functional
    if labels.is_floating_point():
        total = functional.binary_cross_entropy_with_logits(logits.float(), labels, reduction="sum")
        return total / labels_in_batch
    flat = logits.float().reshape(-1, logits.shape[-1])
    total = functional.cross_entropy(
        flat, labels.reshape(-1), ignore_index=IGNORE_INDEX, reduction="sum"
    )
    return total / labels_in_batch


def compute_question_loss(
    start: torch.Tensor,
    end: torch.Tensor,
    labels: torch.Tensor,
    mask: torch.Tensor,
    labels_in_batch: int,
) -> torch.Tensor:
    """Return the cross-entropy of the first and last wordpiece of each answer, over all positions
    that are not padding.

    start, end: logits (batch, wordpieces). labels: (batch, 2) int64 positions. mask: the attention
    mask (batch, wordpieces).
    """
    padding = mask == 0
    first = start.float().masked_fill(padding, -torch.inf)
    last = end.float().masked_fill(padding, -torch.inf)
    total = torch.nn.functional.cross_entropy(first, labels[:, 0], reduction="sum")
    total = total + torch.nn.functional.cross_entropy(last, labels[:, 1], reduction="sum")
    return total / labels_in_batch


def count_labels(labels: torch.Tensor) -> int:
    """Return the number of labels that are not ignored."""
    if labels.is_floating_point():
        return labels.numel()
    return int((labels != IGNORE_INDEX).sum())
