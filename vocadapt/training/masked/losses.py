"""Losses of masked-language-model training: at the masked tokens, and of next-sentence prediction
for pairs of sentences.
"""

from typing import TYPE_CHECKING, Any, cast

from vocadapt.errors import InputError
from vocadapt.models.contextual.masked_loss import compute_scores_at, get_masked_head
from vocadapt.training.labels import IGNORE_INDEX

if TYPE_CHECKING:
    import torch
    import transformers


def masked_loss(
    network: "transformers.PreTrainedModel", ids: "torch.Tensor", labels: "torch.Tensor"
) -> "torch.Tensor":
    """Return the mean cross-entropy at the masked tokens; the head scores only these positions.

    ids, labels: (batch, length) int64 of blocks without padding.
    """
    import torch

    masked = labels != IGNORE_INDEX
    scores = compute_scores_at(network, ids, torch.ones_like(ids), masked)
    return _mean_cross_entropy(scores, labels[masked])


def pair_losses(
    network: "transformers.PreTrainedModel", inputs: "dict[str, torch.Tensor]"
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Return the masked-token loss and the next-sentence loss of a batch of pairs, both means."""
    import torch

    masked = inputs["labels"] != IGNORE_INDEX
    segments = {name: inputs[name] for name in ("attention_mask", "token_type_ids")}
    hidden, pooled = cast(Any, network).base_model(inputs["input_ids"], **segments)[:2]
    following = find_next_sentence_head(network)(pooled)
    scores = get_masked_head(network)(hidden[masked])
    return (
        _mean_cross_entropy(scores, inputs["labels"][masked]),
        torch.nn.functional.cross_entropy(following.float(), inputs["next"]),
    )


def find_next_sentence_head(network: "transformers.PreTrainedModel") -> Any:
    """Return the next-sentence head of a network; raises InputError if it has none."""
    head = getattr(getattr(network, "cls", None), "seq_relationship", None)
    if head is None:
        raise InputError(
            f"{type(network).__name__} has no next-sentence head.",
            "Choose a model that was saved with one (BertForPreTraining), or train without"
            " next-sentence prediction.",
        )
    return head


def _mean_cross_entropy(scores: "torch.Tensor", labels: "torch.Tensor") -> "torch.Tensor":
    """Return the mean cross-entropy; 0, with a gradient, if no token is masked."""
    import torch

    if not len(labels):
        return scores.sum() * 0.0
    return torch.nn.functional.cross_entropy(scores.float(), labels)


def compute_losses(
    network: "transformers.PreTrainedModel", inputs: "dict[str, torch.Tensor]"
) -> "tuple[torch.Tensor, ...]":
    """Return the masked-token loss of a batch and, for pairs of sentences, the next-sentence
    loss.
    """
    if "next" in inputs:
        return pair_losses(network, inputs)
    return (masked_loss(network, inputs["input_ids"], inputs["labels"]),)
