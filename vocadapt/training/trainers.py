"""The Trainer that every training of a network uses, and its callbacks.

Import this module inside functions only: it loads torch and transformers.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file

from vocadapt.errors import InputError
from vocadapt.progress import Progress, duration
from vocadapt.training.callbacks import MIN_TIMED_STEPS, check_finite
from vocadapt.training.schedules import SCHEDULES

CURVE_POINTS = 200  # points of the loss curve
TRAINABLE = "moving.safetensors"  # file of the trainable parameters in a checkpoint


class ProgressCallback(transformers.TrainerCallback):
    """Reports steps, loss, speed and time left, and requests a checkpoint every `save_minutes`.

    If the Progress raises an exception, the training ends. units_per_step: number of units
    (wordpieces, examples) per step, for the reported speed.
    """

    def __init__(
        self, steps: int, units_per_step: int, unit: str, save_minutes: float, progress: Progress
    ) -> None:
        self.steps = steps
        self.units_per_step = units_per_step
        self.unit = unit
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
        now = time.monotonic()
        step = state.global_step
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
        dataset: Any,  # torch reads its length and its items
        settings: Any,  # FinetuneSettings or MaskedSettings
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
        self.remove_callback(transformers.PrinterCallback)

    def check_loss(self, loss: torch.Tensor) -> None:
        """Raise InputError if the loss of the current step is not finite."""
        step = f"step {self.state.global_step + 1:,} of {self.args.max_steps:,}"
        check_finite(float(loss.detach()), step, self.args.learning_rate)

    def _trainable_parameters(self) -> dict[str, torch.nn.Parameter]:
        named = self.network.named_parameters()
        return {name: value for name, value in named if value.requires_grad}

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
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
