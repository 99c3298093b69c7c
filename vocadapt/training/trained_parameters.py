"""The setting `trained`: train all selected parameters, or only the embeddings of new tokens.

Continued pretraining and fine-tuning inherit the setting. Distillation does not have it: it always
trains only the new embeddings. All three use the modules of `separated_embeddings`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.models.adapted_model import RECORD, open_base_model
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings
from vocadapt.settings import setting
from vocadapt.system.files import read_json_object

if TYPE_CHECKING:
    import transformers

ALL, NEW_EMBEDDINGS = "all", "new-embeddings"
TRAINED = {
    ALL: "all parameters of the stage or of the selected layers",
    NEW_EMBEDDINGS: (
        "only the embeddings of the tokens that the adaptation added or replaced, with their output"
        " biases, and the head of a task; all other embeddings stay bit-equal, and the optimizer"
        " has no state for them"
    ),
}


@dataclass(frozen=True, kw_only=True)
class TrainedParameters:
    """Base class of the settings of trainings that can be restricted to new embeddings."""

    trained: str = setting(
        ALL,
        "parameters to train",
        choices=TRAINED,
        label="Trained parameters",
        flag="--trained-parameters",
    )

    @property
    def only_new_embeddings(self) -> bool:
        """Whether only the embeddings of new tokens are trained."""
        return self.trained == NEW_EMBEDDINGS


def find_new_ids(model: LanguageModel) -> list[int]:
    """Return the ids of the tokens that got new embeddings when the model was adapted, sorted.

    They are read from the record in its folder; empty if it was not adapted.
    """
    before = open_base_model(model)
    if before is None:
        return []
    plan = read_json_object(model.path / RECORD).get("plan", {})
    # Tokens of the original vocabulary whose embeddings were replaced count as new.
    replaced = frozenset(plan.get("replaced_tokens", ()))
    return [
        i
        for i, token in enumerate(model.vocabulary.tokens)
        if token in replaced or token not in before.vocabulary
    ]


def find_activated_ids(model: LanguageModel) -> list[int]:
    """Return the ids of the tokens that became words when the model was adapted; they keep their
    embeddings, so they are no new tokens.
    """
    before = open_base_model(model)
    if before is None:
        return []
    activated = before.vocabulary.find_activated(model.vocabulary)
    return sorted(model.vocabulary.ids[token] for token in activated)


def require_new_ids(model: LanguageModel) -> list[int]:
    """Return the ids of the new tokens of an adapted model; raises InputError if it has none."""
    new = find_new_ids(model)
    if new:
        return new
    if open_base_model(model) is None:
        raise InputError(
            f"{model.name} was not adapted: it has no {RECORD} that lists its new tokens.",
            "Adapt the model first, or train all parameters.",
            "trained",
            code="not-adapted",
        )
    raise InputError(
        f"{model.name} has no new tokens: its adaptation added and replaced none.",
        "Add tokens, or train all parameters.",
        "trained",
        code="no-new-tokens",
    )


def measure_optimizer(optimizer: Any) -> int:
    """Return the size of an optimizer's state in bytes: two values per trained parameter for
    AdamW.
    """
    import torch

    total = 0
    for state in optimizer.state.values():
        for value in state.values():
            if isinstance(value, torch.Tensor):
                total += value.numel() * value.element_size()
    return total


def compare_old_embeddings(
    model: LanguageModel, network: "transformers.PreTrainedModel", new: Sequence[int]
) -> dict[str, int]:
    """Compare the embeddings of all old tokens with those in the model's folder.

    new: ids of the new tokens. Returns the number of old embeddings ("of"), and of those that are
    bit-equal ("bit_equal"). Both are compared in float32, to which every stored dtype converts
    exactly.
    """
    stored = model.space.matrix
    trained = get_embeddings(network).detach().cpu().float().numpy()[: len(stored)]
    is_old = np.ones(len(stored), dtype=np.bool_)
    is_old[list(new)] = False
    # Compared as integers, which differ if any bit differs, also for NaN and -0.
    same = stored.view(np.uint32) == np.ascontiguousarray(trained).view(np.uint32)
    return {"of": int(is_old.sum()), "bit_equal": int(same.all(axis=1)[is_old].sum())}


def describe_old_embeddings(old: Mapping[str, int] | None) -> str:
    """Describe what `compare_old_embeddings` found after a training of only new embeddings; "" for
    any other training.
    """
    if not old:
        return ""
    return (
        "Only the embeddings of new tokens were trained:"
        f" {old['bit_equal']:,} of {old['of']:,} others are bit-equal."
    )
