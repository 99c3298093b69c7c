"""The Trainer for fine-tuning, and its losses.

Import this module inside functions only: it loads torch and transformers.
"""

from pathlib import Path
from typing import Any

import torch
import transformers
from accelerate.utils.memory import should_reduce_batch_size

from vocadapt.errors import InputError
from vocadapt.progress import Progress
from vocadapt.training.callbacks import check_finite, write_curve
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.finetune.tokenizations import FinetuningDataset, select_inputs
from vocadapt.training.labels import IGNORE_INDEX
from vocadapt.training.trainers import ProgressCallback, ReportingTrainer


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
