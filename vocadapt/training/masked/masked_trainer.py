"""The Trainer for masked-language modeling.

Import this module inside functions only: it loads torch and transformers.
"""

from pathlib import Path
from typing import Any

import torch
import transformers

from vocadapt.progress import Progress
from vocadapt.training.labels import IGNORE_INDEX
from vocadapt.training.masked.blocks import MaskedBlockDataset
from vocadapt.training.masked.losses import compute_losses
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.trainers import ProgressCallback, ReportingTrainer

NEXT_LOSS = "next_loss"  # name of the next-sentence loss in the log


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
