"""Losses of fine-tuning on torch tensors."""

from typing import TYPE_CHECKING

from vocadapt.training.labels import IGNORE_INDEX

if TYPE_CHECKING:
    import torch


def compute_label_loss(
    logits: "torch.Tensor", labels: "torch.Tensor", labels_in_batch: int
) -> "torch.Tensor":
    """Return the sum of the cross-entropies, divided by the number of labels in the whole batch.

    Thus the gradient is the same if the batch is processed in parts.

    logits: (batch, wordpieces, outputs) or (batch, outputs). labels: output numbers, (batch,
    wordpieces) or (batch,) int64; for multi-label tasks (batch, outputs) float32 of 0 and 1.
    """
    from torch.nn import functional

    if labels.is_floating_point():
        total = functional.binary_cross_entropy_with_logits(logits.float(), labels, reduction="sum")
        return total / labels_in_batch
    flat = logits.float().reshape(-1, logits.shape[-1])
    total = functional.cross_entropy(
        flat, labels.reshape(-1), ignore_index=IGNORE_INDEX, reduction="sum"
    )
    return total / labels_in_batch


def compute_question_loss(
    start: "torch.Tensor",
    end: "torch.Tensor",
    labels: "torch.Tensor",
    mask: "torch.Tensor",
    labels_in_batch: int,
) -> "torch.Tensor":
    """Return the cross-entropy of the first and last wordpiece of each answer, over all positions
    that are not padding.

    start, end: logits (batch, wordpieces). labels: (batch, 2) int64 positions. mask: the attention
    mask (batch, wordpieces).
    """
    from torch.nn import functional

    padding = mask == 0
    first = start.float().masked_fill(padding, float("-inf"))
    last = end.float().masked_fill(padding, float("-inf"))
    total = functional.cross_entropy(first, labels[:, 0], reduction="sum")
    total = total + functional.cross_entropy(last, labels[:, 1], reduction="sum")
    return total / labels_in_batch
