"""Trainers derived from transformers' Trainer. Import this module inside functions only: it loads
torch and transformers.
"""

from pathlib import Path
from typing import Any

import torch
import transformers
from accelerate.utils.memory import should_reduce_batch_size

from vocadapt.errors import InputError
from vocadapt.training.callbacks import check_finite
from vocadapt.training.finetune.losses import count_labels, label_loss, question_loss
from vocadapt.training.finetune.mixture import select_inputs
from vocadapt.training.labels import IGNORE_INDEX
from vocadapt.training.masked.checkpoints import (
    load_trainable_parameters,
    save_trainable_parameters,
)
from vocadapt.training.masked.losses import compute_losses

NEXT_LOSS = "next_loss"  # name of the next-sentence loss in the log


class MaskedTokenTrainer(transformers.Trainer):
    """Trainer that scores masked positions only, logs the next-sentence loss separately, and
    stores only the trainable parameters in checkpoints.

    max_steps and learning_rate are reported if the loss is not finite.
    """

    def __init__(
        self,
        network: transformers.PreTrainedModel,
        max_steps: int,
        learning_rate: float,
        accumulation_steps: int,
        **options: Any,
    ) -> None:
        super().__init__(model=network, **options)
        self._network = network
        self._max_steps, self._learning_rate = max_steps, learning_rate
        self._accumulation_steps = accumulation_steps
        # Masked-token and next-sentence loss of each batch since the last log.
        self._separate_losses: list[tuple[float, ...]] = []
        # The Trainer then counts the masked tokens of all gradient accumulation steps together.
        self.model_accepts_loss_kwargs = accumulation_steps > 1

    def compute_loss(
        self,
        model: Any,
        inputs: Any,
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the sum of the losses of a batch.

        With gradient accumulation each masked token and each pair has the same weight as in one
        large batch: the mean of a partial batch is scaled by its fraction of the whole batch.
        """
        losses = torch.stack(compute_losses(model, inputs))
        if num_items_in_batch is not None:
            masked = (inputs["labels"] != IGNORE_INDEX).sum()
            fraction = masked / max(1, int(num_items_in_batch))
            pair_fraction = torch.full_like(fraction, 1 / self._accumulation_steps)
            losses = losses * torch.stack([fraction, pair_fraction])[: len(losses)]
        if len(losses) == 2:
            scaled = losses.detach() * self._accumulation_steps
            self._separate_losses.append(tuple(scaled.tolist()))
        loss = losses.sum()
        step = f"step {self.state.global_step + 1:,} of {self._max_steps:,}"
        check_finite(float(loss.detach()), step, self._learning_rate)
        if return_outputs:
            return loss, {}
        return loss

    def log(self, logs: dict[str, float], *more: Any, **named: Any) -> None:
        """Log the mean of both losses separately for pairs of sentences."""
        if "loss" in logs and self._separate_losses:
            batches = len(self._separate_losses)
            masked, following = map(sum, zip(*self._separate_losses, strict=True))
            logs |= {"loss": masked / batches, NEXT_LOSS: following / batches}
            self._separate_losses.clear()
        super().log(logs, *more, **named)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        save_trainable_parameters(self._network, Path(output_dir or str(self.args.output_dir)))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        load_trainable_parameters(self._network, Path(resume_from_checkpoint))


class FinetuningTrainer(transformers.Trainer):
    """Trainer that reads a batch in several parts if memory is short.

    max_steps and learning_rate are reported if the loss is not finite.
    """

    def __init__(
        self,
        network: transformers.PreTrainedModel,
        max_steps: int,
        learning_rate: float,
        **options: Any,
    ) -> None:
        super().__init__(model=network, **options)
        self._network = network
        self._max_steps, self._learning_rate = max_steps, learning_rate
        self.parts = 1  # parts that a batch is read in

    def training_step(
        self, model: Any, inputs: Any, num_items_in_batch: Any = None
    ) -> torch.Tensor:
        """Train on a batch; double the number of parts until it fits in memory."""
        while True:
            try:
                return self._train_in_parts(model, inputs)
            except RuntimeError as error:
                if not should_reduce_batch_size(error):
                    raise
                self._double_parts(model, len(inputs["input_ids"]), error)

    def _train_in_parts(self, model: Any, inputs: Any) -> torch.Tensor:
        labels_in_batch = count_labels(inputs["labels"])
        rows = -(-len(inputs["input_ids"]) // self.parts)
        total = torch.zeros((), device=self.args.device)
        for start in range(0, len(inputs["input_ids"]), rows):
            portion = {name: value[start : start + rows] for name, value in inputs.items()}
            portion["labels_in_batch"] = labels_in_batch
            total = total + super().training_step(model, portion)
        step = f"step {self.state.global_step + 1:,} of {self._max_steps:,}"
        check_finite(float(total), step, self._learning_rate)
        return total

    def _double_parts(self, model: Any, rows: int, error: RuntimeError) -> None:
        """Use twice as many parts from now on; raises InputError if a part is one example
        already.
        """
        if self.parts >= rows:
            raise InputError(
                "One example alone needs more memory than there is"
                f" ({str(error).splitlines()[0][:120]}).",
                "Reduce the maximum sequence length, or use a smaller model.",
            ) from error
        self.parts *= 2
        model.zero_grad()

    def compute_loss(
        self,
        model: Any,
        inputs: Any,
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the loss of a batch or of a part of it."""
        labels, labels_in_batch = inputs["labels"], inputs["labels_in_batch"]
        read = dict(inputs)
        del read["labels"], read["labels_in_batch"]
        outputs = model(**select_inputs(self._network, read))
        if "start_logits" not in outputs:
            return label_loss(outputs.logits, labels, max(1, labels_in_batch))
        return question_loss(
            outputs.start_logits,
            outputs.end_logits,
            labels,
            read["attention_mask"],
            labels_in_batch,
        )
