"""The Trainer for fine-tuning.

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
from vocadapt.training.finetune.predict import read_logits
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.finetune.tokenizations import FinetuningDataset, select_inputs
from vocadapt.training.labels import IGNORE_INDEX
from vocadapt.training.trainers import ProgressCallback, ReportingTrainer


class FinetuningTrainer(ReportingTrainer):
    """Trainer for fine-tuning: takes whole batches from the dataset, in its order, and processes a
    batch in several micro-batches if memory is short.
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
        self.n_micro_batches = 1  # in which a batch is processed

    def training_step(
        self, model: Any, inputs: Any, num_items_in_batch: Any = None
    ) -> torch.Tensor:
        """Train on a batch; double the number of micro-batches, for all later batches too, until
        one fits in memory.

        Raises InputError if a single example does not fit, or a batch whose loss compares its
        examples.
        """
        while True:
            try:
                return self._train_micro_batches(model, inputs)
            except RuntimeError as error:
                if not should_reduce_batch_size(error):
                    raise
                if self.dataset.kind.compares_examples:
                    raise InputError(
                        f"A batch does not fit in memory ({str(error).splitlines()[0][:120]}), and"
                        " its loss compares all its examples, so it cannot be divided.",
                        "Reduce the batch size or the maximum sequence length.",
                        code="batch-too-large",
                    ) from error
                if self.n_micro_batches >= len(inputs["input_ids"]):
                    raise InputError(
                        "A single example does not fit in memory"
                        f" ({str(error).splitlines()[0][:120]}).",
                        "Reduce the maximum sequence length, or use a smaller model.",
                        code="out-of-memory",
                    ) from error
                self.n_micro_batches *= 2
                model.zero_grad()

    def _train_micro_batches(self, model: Any, inputs: Any) -> torch.Tensor:
        labels_in_batch = count_labels(inputs["labels"])
        size = -(-len(inputs["input_ids"]) // self.n_micro_batches)
        total = torch.zeros((), device=self.args.device)
        for start in range(0, len(inputs["input_ids"]), size):
            micro_batch = {name: value[start : start + size] for name, value in inputs.items()}
            micro_batch["labels_in_batch"] = labels_in_batch
            total = total + super().training_step(model, micro_batch)
        self.check_loss(total)
        return total

    def compute_loss(
        self,
        model: Any,
        inputs: Any,
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the loss of a batch or of a micro-batch."""
        labels = inputs["labels"]
        labels_in_batch = inputs["labels_in_batch"]
        features = dict(inputs)
        del features["labels"], features["labels_in_batch"]
        mask = features["attention_mask"]
        logits = read_logits(model(**select_inputs(self.network, features)), mask)
        return self.dataset.kind.compute_batch_loss(logits, labels, mask, max(1, labels_in_batch))

    def log(self, logs: dict[str, float], *more: Any, **named: Any) -> None:
        """Log the loss, and write the losses so far for the live chart."""
        super().log(logs, *more, **named)
        write_curve(self.folder, self.state.log_history, self.dataset.steps, self.state.max_steps)

    def check_last_loss(self) -> None:
        """Raise InputError if the trained network's loss on an example of the last batch is not
        finite; on all of them if the loss compares examples.

        The loss of the last step does not show this: it is computed before the last update.
        """
        last = self.dataset[len(self.dataset) - 1]
        if not self.dataset.kind.compares_examples:
            last = {name: value[:1] for name, value in last.items()}
        inputs = self._prepare_inputs(last)
        labels_in_batch = max(1, count_labels(inputs["labels"]))
        with torch.no_grad():
            loss = self.compute_loss(self.network, inputs | {"labels_in_batch": labels_in_batch})
        step = f"step {len(self.dataset):,} of {len(self.dataset):,}"
        check_finite(
            float(loss), step, self.args.learning_rate, "The loss of the trained network is"
        )


def count_labels(labels: torch.Tensor) -> int:
    """Return the number of labels that are not ignored."""
    if labels.is_floating_point():
        return labels.numel()
    return int((labels != IGNORE_INDEX).sum())
