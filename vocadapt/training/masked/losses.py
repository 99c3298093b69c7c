"""Losses of masked-language-model training: the masked-token loss and, for sentence pairs, the
next-sentence loss.
"""

from typing import TYPE_CHECKING, Any, cast

from vocadapt.errors import InputError
from vocadapt.models.contextual.masked_loss import compute_scores_at, get_masked_head
from vocadapt.training.labels import IGNORE_INDEX

if TYPE_CHECKING:
    import torch
    import transformers


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


def compute_losses(
    network: "transformers.PreTrainedModel", inputs: "dict[str, torch.Tensor]"
) -> "tuple[torch.Tensor, ...]":
    """Return the mean cross-entropy of a batch at the masked tokens and, for sentence pairs, that
    of next-sentence prediction.

    The masked-language-model head scores only the masked positions.

    inputs: input_ids and labels, (batch, length) int64 of blocks without padding; for pairs also
    attention_mask, token_type_ids, and next, (batch,) int64.
    """
    import torch

    cross_entropy = torch.nn.functional.cross_entropy
    ids = inputs["input_ids"]
    labels = inputs["labels"]
    masked = labels != IGNORE_INDEX
    pair_loss: tuple[torch.Tensor, ...] = ()
    if "next" in inputs:
        segments = {name: inputs[name] for name in ("attention_mask", "token_type_ids")}
        # The encoder runs once for both heads.
        hidden, pooled = cast(Any, network).base_model(ids, **segments)[:2]
        following = find_next_sentence_head(network)(pooled)
        scores = get_masked_head(network)(hidden[masked])
        pair_loss = (cross_entropy(following.float(), inputs["next"]),)
    else:
        scores = compute_scores_at(network, ids, torch.ones_like(ids), masked)

    if masked.any():
        masked_loss = cross_entropy(scores.float(), labels[masked])
    else:
        masked_loss = scores.sum() * 0.0  # 0, with a gradient
    return (masked_loss, *pair_loss)
