"""What masked-word training lowers: the loss at the asked wordpieces, and of pairs that of which
are next to each other.
"""

from typing import TYPE_CHECKING, Any, cast

from vocadapt.errors import InputError
from vocadapt.models.contextual.masked_loss import head_on, scores_at
from vocadapt.training.labels import IGNORE_INDEX

if TYPE_CHECKING:
    import torch
    import transformers


def masked_loss(
    network: "transformers.PreTrainedModel", ids: "torch.Tensor", labels: "torch.Tensor"
) -> "torch.Tensor":
    """Mean cross-entropy at the asked wordpieces; the head scores these positions only. Blocks are
    full: nothing is padding.
    """
    import torch

    asked = labels != IGNORE_INDEX
    return _loss_of(scores_at(network, ids, torch.ones_like(ids), asked), labels[asked])


def pair_losses(
    network: "transformers.PreTrainedModel", inputs: "dict[str, torch.Tensor]"
) -> "tuple[torch.Tensor, torch.Tensor]":
    """The same for pairs of sentences, and the mean cross-entropy of which are next to each
    other.
    """
    import torch

    asked = inputs["labels"] != IGNORE_INDEX
    told = {name: inputs[name] for name in ("attention_mask", "token_type_ids")}
    hidden, pooled = cast(Any, network).base_model(inputs["input_ids"], **told)[:2]
    scores = find_next_sentence_head(network)(pooled)
    masked = _loss_of(head_on(network)(hidden[asked]), inputs["labels"][asked])
    return masked, torch.nn.functional.cross_entropy(scores.float(), inputs["next"])


def find_next_sentence_head(network: "transformers.PreTrainedModel") -> Any:
    """The head that tells whether B follows A; raises InputError where the network has none."""
    head = getattr(getattr(network, "cls", None), "seq_relationship", None)
    if head is None:
        raise InputError(
            f"{type(network).__name__} has no next-sentence head.",
            "Choose a model that was saved with one (BertForPreTraining), or leave --nsp out.",
        )
    return head


def _loss_of(scores: "torch.Tensor", labels: "torch.Tensor") -> "torch.Tensor":
    import torch

    return (
        torch.nn.functional.cross_entropy(scores.float(), labels)
        if len(labels)
        else scores.sum() * 0.0
    )


def losses(
    network: "transformers.PreTrainedModel", inputs: "dict[str, torch.Tensor]"
) -> "tuple[torch.Tensor, ...]":
    """The masked-word loss of a batch, and where it holds pairs the next-sentence loss."""
    if "next" in inputs:
        return pair_losses(network, inputs)
    return (masked_loss(network, inputs["input_ids"], inputs["labels"]),)
