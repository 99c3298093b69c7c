"""Stages of continued pretraining: which parameters are trained in each (Tai et al. 2020, sections
4.1 and 4.3), and its presets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from vocadapt.errors import InputError
from vocadapt.files import read_json_object
from vocadapt.models.adapted_model import RECORD, open_base_model
from vocadapt.models.extension_size import is_extended, is_extension_tensor
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings, get_output_bias, get_output_layer
from vocadapt.training.masked.settings import MaskedSettings

if TYPE_CHECKING:
    import transformers

    from vocadapt.models.exbert.separated_embeddings import SeparatedEmbeddings

STAGES = {
    "extension": (
        "exBERT only: its modules, gates, and the embeddings and output biases of its new tokens;"
        " BERT is frozen"
    ),
    "whole": "all parameters, after the extension stage or instead of it",
    "continued": "all parameters of a model without modules: the baseline",
    "embeddings": (
        "embeddings and output biases only: of the new tokens if the model has any, else of all"
    ),
}


@dataclass(frozen=True)
class Pretraining:
    """A preset of continued pretraining: its description and settings."""

    about: str
    settings: MaskedSettings


PRETRAINING_PRESETS: Mapping[str, Pretraining] = {
    "quick": Pretraining("one epoch, batch size 16, learning rate 1e-4", MaskedSettings(lr=1e-4)),
    "exbert": Pretraining(
        "3 epochs, batch size 256 in 16 gradient accumulation steps, learning rate 1e-4, 128"
        " wordpieces, no warmup, BERT's dropout. As published: on 5 % of the lines, 24 hours of the"
        " stage extension, then whole",
        MaskedSettings(batch=256, parts=16, lr=1e-4, epochs=3.0, warm_up=0.0, dropout=0.1),
    ),
}


def pretraining_preset(name: str, **changes: Any) -> MaskedSettings:
    """Return the settings of a preset with some of them changed; raises InputError for an unknown
    preset.
    """
    if name not in PRETRAINING_PRESETS:
        raise InputError(
            f"There are no pretraining settings {name!r}.",
            f"Choose one of: {', '.join(PRETRAINING_PRESETS)}.",
        )
    return PRETRAINING_PRESETS[name].settings.with_changes(**changes)


def check_stage(
    model: LanguageModel, stage: str, train_heads: bool = False, extended: bool | None = None
) -> None:
    """Raise InputError if a stage is unknown or does not fit the model.

    extended: whether the model is, or will be, an exBERT; read from the model if None.
    """
    extended = is_extended(model.config) if extended is None else extended
    if stage not in STAGES:
        raise InputError(f"Unknown stage {stage!r}.", f"Choose one of: {', '.join(STAGES)}.")
    if train_heads and stage != "extension":
        raise InputError(
            f"Training the heads separately does not apply to the stage {stage}.",
            "Leave it out, or choose the stage extension.",
        )
    if stage == "extension" and not extended:
        raise InputError(
            f"{model.name} has no extension to train.",
            "Adapt the model by an exBERT preset first, or choose the stage embeddings, whole or"
            " continued.",
        )
    if stage == "continued" and extended:
        raise InputError(
            f"{model.name} is an exBERT: continued is the baseline without modules.",
            "Choose the stage whole.",
        )


def find_new_ids(model: LanguageModel) -> list[int]:
    """Return the ids of the tokens that got embeddings when the model was adapted, as its folder
    records; empty if it was not adapted.
    """
    before = open_base_model(model)
    if before is None:
        return []
    plan = read_json_object(model.path / RECORD).get("plan", {})
    # Tokens of the original vocabulary whose embeddings were replaced count as new.
    renewed = frozenset(plan.get("replaced_tokens", ()))
    return [
        i
        for i, token in enumerate(model.vocabulary.tokens)
        if token in renewed or token not in before.vocabulary
    ]


def select_trained_parameters(
    network: "transformers.PreTrainedModel", stage: str, new: list[int], train_heads: bool = False
) -> "SeparatedEmbeddings | None":
    """Make only the parameters of a stage require a gradient.

    If only new embeddings are trained, they are separated from the others; the returned object
    joins them again. Raises InputError if no parameter is left to train.
    """
    network.requires_grad_(stage in ("whole", "continued"))
    separated = None
    if stage in ("extension", "embeddings"):
        separated = _separate_new_embeddings(network, new, stage)
    if stage == "extension":
        for name, value in network.named_parameters():
            if is_extension_tensor(name) or (
                train_heads and _is_head_parameter(name, separated is not None)
            ):
                value.requires_grad = True
    if not any(value.requires_grad for value in network.parameters()):
        raise InputError(
            f"No parameter is left to train in the stage {stage}.", "Choose another stage."
        )
    return separated


def _is_head_parameter(name: str, separated: bool) -> bool:
    """Whether a parameter belongs to the heads only; while the output layer is separated, its bias
    `cls.predictions.bias` is unused and does not count.
    """
    rows = name.endswith(("decoder.weight", "own.fixed", "own.weight"))
    return (
        name.startswith("cls.") and not rows and not (separated and name == "cls.predictions.bias")
    )


def _separate_new_embeddings(
    network: "transformers.PreTrainedModel", new: list[int], stage: str
) -> "SeparatedEmbeddings | None":
    """Separate the new embeddings for training. Without new tokens, the stage "embeddings" trains
    all embeddings, and the stage "extension" none.
    """
    import torch

    from vocadapt.models.exbert.separated_embeddings import SeparatedEmbeddings

    if new:
        separated = SeparatedEmbeddings(network, torch.tensor(new))
        separated.separate()
        return separated
    if stage == "embeddings":
        parts = [
            get_embeddings(network),
            get_output_bias(network),
            getattr(get_output_layer(network), "weight", None),
        ]
        for value in parts:
            if value is not None:
                cast(Any, value).requires_grad = True
    return None
