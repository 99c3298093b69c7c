"""The stages of further pretraining: which parameters of a network move in each (exBERT 2020, 4.1
and 4.3); its presets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from vocadapt.errors import InputError
from vocadapt.files import read_json_object
from vocadapt.models.adapted_model import RECORD, before_of
from vocadapt.models.extension_size import is_extended, of_extension
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import input_rows, output_bias, output_layer
from vocadapt.training.masked.trainer import MaskedSettings

if TYPE_CHECKING:
    import transformers

    from vocadapt.models.exbert.embedding_rows import Apart

STAGES = {
    "extension": (
        "of an exBERT: its modules, gates, and the rows and output biases of its new tokens; BERT"
        " stays as it is"
    ),
    "whole": "everything, after the extension stage, or at once",
    "continued": "everything, of a model without modules: the baseline",
    "embeddings": (
        "the rows and output biases alone: of the new tokens where the model has some, else of all"
    ),
}


@dataclass(frozen=True)
class Pretraining:
    """A preset of further pretraining: what it is, and its settings."""

    about: str
    settings: MaskedSettings


PRETRAINING_PRESETS: Mapping[str, Pretraining] = {
    "quick": Pretraining("one pass, batch 16, 1e-4", MaskedSettings(lr=1e-4)),
    "exbert": Pretraining(
        "3 passes, batch 256 read in 16 parts, 1e-4, 128 wordpieces, no warm-up, dropout as BERT's."
        " As published: of 5 % of the text (its share of the lines), 24 hours of the stage"
        " extension, then whole",
        MaskedSettings(batch=256, parts=16, lr=1e-4, epochs=3.0, warm_up=0.0, dropout=0.1),
    ),
}


def pretraining_preset(name: str, **changes: Any) -> MaskedSettings:
    """The settings of a preset, some of them changed; raises InputError for an unknown one."""
    if name not in PRETRAINING_PRESETS:
        raise InputError(
            f"There are no pretraining settings {name!r}.",
            f"Choose one of: {', '.join(PRETRAINING_PRESETS)}.",
        )
    return PRETRAINING_PRESETS[name].settings.with_changes(**changes)


def check_stage(
    model: LanguageModel, stage: str, train_heads: bool = False, extended: bool | None = None
) -> None:
    """Raises InputError where a stage is unknown or does not fit the model, or what will be made of
    it (`extended` or not).
    """
    extended = is_extended(model.config) if extended is None else extended
    if stage not in STAGES:
        raise InputError(f"Unknown stage {stage!r}.", f"Choose one of: {', '.join(STAGES)}.")
    if train_heads and stage != "extension":
        raise InputError(
            f"The stage {stage} has no use for --train-heads.", "It belongs to the stage extension."
        )
    if stage == "extension" and not extended:
        raise InputError(
            f"{model.name} has no extension to train.",
            "Make one (adapt --preset exbert-s3), or take the stage embeddings, whole or"
            " continued.",
        )
    if stage == "continued" and extended:
        raise InputError(
            f"{model.name} is an exBERT: continued is the baseline without modules.",
            "Take the stage whole.",
        )


def new_ids(model: LanguageModel) -> list[int]:
    """Ids of the tokens that got a row when the model was adapted, as its folder says; none where
    it was not.
    """
    before = before_of(model)
    if before is None:
        return []
    plan = read_json_object(model.path / RECORD).get("plan", {})
    renewed = frozenset(plan.get("replaced_tokens", ()))
    return [
        i
        for i, token in enumerate(model.vocabulary.tokens)
        if token in renewed or token not in before.vocabulary
    ]


def begin(
    network: "transformers.PreTrainedModel", stage: str, new: list[int], train_heads: bool = False
) -> "Apart | None":
    """Let only what the stage trains require a gradient; rows that move alone are taken apart, and
    given back to be joined.

    Raises InputError where nothing is left to be trained.
    """
    network.requires_grad_(stage in ("whole", "continued"))
    apart = None
    if stage in ("extension", "embeddings"):
        apart = _rows(network, new, stage)
    if stage == "extension":
        for name, value in network.named_parameters():
            if of_extension(name) or (train_heads and _of_head(name, apart is not None)):
                value.requires_grad = True
    if not any(value.requires_grad for value in network.parameters()):
        raise InputError(
            f"Nothing is left to be trained in the stage {stage}.", "Choose another stage."
        )
    return apart


def _of_head(name: str, apart: bool) -> bool:
    """Whether a parameter belongs to the heads alone; the bias that stands by while the output
    layer is apart does not.
    """
    rows = name.endswith(("decoder.weight", "own.fixed", "own.weight"))
    return name.startswith("cls.") and not rows and not (apart and name == "cls.predictions.bias")


def _rows(network: "transformers.PreTrainedModel", new: list[int], stage: str) -> "Apart | None":
    """The new rows apart; without new ones all of them move in the stage embeddings, and none in
    the stage extension.
    """
    import torch

    from vocadapt.models.exbert.embedding_rows import Apart

    if new:
        apart = Apart(network, torch.tensor(new))
        apart.take_apart()
        return apart
    if stage == "embeddings":
        parts = [
            input_rows(network),
            output_bias(network),
            getattr(output_layer(network), "weight", None),
        ]
        for value in parts:
            if value is not None:
                cast(Any, value).requires_grad = True
    return None
