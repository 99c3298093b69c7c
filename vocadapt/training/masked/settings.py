"""Settings of masked-language-model training, and presets and stages of continued pretraining.

A stage defines which parameters are trained (Tai et al. 2020, sections 4.1 and 4.3).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from vocadapt.errors import InputError, check_choice
from vocadapt.models.extension_size import is_extended, is_extension_tensor
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings, get_output_bias, get_output_layer
from vocadapt.settings import (
    ABOVE_ZERO,
    MAX_LEARNING_RATE,
    MAX_SEED,
    MINUTES_PER_YEAR,
    check_settings,
    setting,
)
from vocadapt.training.schedules import SCHEDULES

if TYPE_CHECKING:
    import transformers

    from vocadapt.training.separated_embeddings import SeparatedEmbeddings


BUDGETS = ("hours", "tokens", "epochs")  # the first one that is set applies


@dataclass(frozen=True)
class MaskedSettings:
    """Settings of masked-language-model training: blocks, optimizer, budget and schedule.

    The budget is `hours` if set, else `tokens`, else `epochs`; hours are converted to steps by the
    measured seconds per step. A step trains on `batch` blocks, in `parts` gradient accumulation
    steps of equal size. The optimizer is AdamW. The learning rate rises over the fraction `warm_up`
    of the steps and then follows `schedule`.

    Raises InputError for a batch that cannot be divided into `parts`.
    """

    length: int = setting(128, "wordpieces per block", low=8, high=4096, label="Block length")
    batch: int = setting(
        16, "blocks per step", low=1, high=65_536, label="Batch size", flag="--batch-size"
    )
    lr: float = setting(
        1e-3,
        "peak learning rate",
        low=ABOVE_ZERO,
        high=MAX_LEARNING_RATE,
        label="Learning rate",
        flag="--learning-rate",
    )
    epochs: float = setting(
        1.0, "passes over the text", low=ABOVE_ZERO, high=10_000, flag="--num-epochs"
    )
    tokens: int = setting(0, "wordpieces to train on", high=10**13, label="Wordpieces")
    hours: float = setting(
        0.0, "time budget in hours, converted to steps by the measured speed", high=10_000
    )
    warm_up: float = setting(
        0.06,
        "fraction of the steps with a rising learning rate",
        high=0.999,
        label="Warmup ratio",
        flag="--warmup-ratio",
    )
    weight_decay: float = setting(0.01, "weight decay of AdamW", high=100, flag="")
    share: float = setting(
        0.15,
        "fraction of tokens to mask",
        high=0.999,
        label="Masking probability",
        flag="--mlm-probability",
    )
    # A short training sees no text twice and cannot overfit (Geiping & Goldstein 2023, 4.3).
    dropout: float = setting(
        0.0, "dropout probability; 0 for a short training, which cannot overfit", high=0.999
    )
    save_minutes: float = setting(
        5.0,
        "minutes between checkpoints",
        low=ABOVE_ZERO,
        high=MINUTES_PER_YEAR,
        label="Checkpoint minutes",
    )
    seed: int = setting(1, "random seed of the training", high=MAX_SEED)
    parts: int = setting(
        1,
        "number of gradient accumulation steps per batch: less memory, the same gradient",
        low=1,
        high=65_536,
        label="Gradient accumulation steps",
        flag="--gradient-accumulation-steps",
    )
    schedule: str = setting(
        "linear",
        "learning-rate schedule",
        choices=SCHEDULES,
        label="LR scheduler",
        flag="--lr-scheduler",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.batch % self.parts:
            sizes = range(1, self.batch + 1)
            divisors = ", ".join(str(size) for size in sizes if self.batch % size == 0)
            raise InputError(
                f"Masked training: a batch size of {self.batch} cannot be divided into"
                f" {self.parts} gradient accumulation steps.",
                f"Choose one of: {divisors}.",
                "parts",
            )

    @property
    def unused_settings(self) -> tuple[str, ...]:
        """Names of the budgets that are not in effect."""
        return tuple(name for name in BUDGETS if name != self.budget)

    @property
    def budget(self) -> str:
        """Name of the budget in effect, one of BUDGETS."""
        return next((name for name in ("hours", "tokens") if getattr(self, name)), "epochs")

    def with_changes(self, **changes: Any) -> "MaskedSettings":
        """Return a copy with some settings changed; a new budget replaces the old one."""
        if any(name in changes for name in BUDGETS):
            fields = MaskedSettings.__dataclass_fields__
            changes = {name: fields[name].default for name in BUDGETS} | changes
        return replace(self, **changes)


STAGES = {
    "extension": (
        "only the extension modules of an exBERT, its gates and its new tokens learn; the original"
        " BERT stays as it is"
    ),
    "whole": "all parameters learn, after the stage extension or instead of it",
    "continued": (
        "all parameters learn: the usual continued pretraining of a model without extension modules"
    ),
    "embeddings": (
        "only embeddings and output biases learn: those of the new tokens, or of all tokens if the"
        " model has no new ones"
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
    check_choice("pretraining preset", name, PRETRAINING_PRESETS)
    return PRETRAINING_PRESETS[name].settings.with_changes(**changes)


def check_stage(
    model: LanguageModel, stage: str, train_heads: bool = False, extended: bool | None = None
) -> None:
    """Raise InputError if a stage is unknown or does not fit the model.

    extended: whether the model is, or will be, an exBERT; None reads this from the model.
    """
    extended = is_extended(model.config) if extended is None else extended
    check_choice("stage", stage, STAGES)
    if train_heads and stage != "extension":
        raise InputError(
            f"Training the masked-language-model head too does not apply to the stage {stage}.",
            "Turn it off, or choose the stage extension.",
        )
    if stage == "extension" and not extended:
        raise InputError(
            f"{model.name} has no extension modules to train.",
            "Adapt the model with an exBERT preset first, or choose the stage embeddings, whole or"
            " continued.",
        )
    if stage == "continued" and extended:
        raise InputError(
            f"{model.name} is an exBERT, and the stage continued is for models without modules.",
            "Choose the stage whole.",
        )


def select_trained_parameters(
    network: "transformers.PreTrainedModel",
    stage: str,
    new: list[int],
    train_heads: bool = False,
    only_new: bool = False,
) -> "SeparatedEmbeddings | None":
    """Make only the parameters of a stage require a gradient.

    only_new: train only the embeddings of the ids `new`, in every stage. If only new embeddings are
    trained, they are separated from the others; the returned object merges them again. Raises
    InputError if no parameter is left to train.
    """
    if only_new:
        stage, train_heads = "embeddings", False
    # 1. All parameters, or none.
    network.requires_grad_(stage in ("whole", "continued"))

    # 2. New embeddings.
    separated = None
    if stage in ("extension", "embeddings"):
        separated = _separate_new_embeddings(network, new, stage)

    # 3. The modules of an exBERT and, with `train_heads`, the parameters that belong to the heads
    # only. While the output layer is separated, its own bias is unused.
    head_excluded = ["decoder.weight"]
    if separated is not None:
        head_excluded.append("cls.predictions.bias")
    if stage == "extension":
        for name, value in network.named_parameters():
            is_head = name.startswith("cls.") and not name.endswith(tuple(head_excluded))
            if is_extension_tensor(name) or (train_heads and is_head):
                value.requires_grad = True
    if not any(value.requires_grad for value in network.parameters()):
        raise InputError(
            f"No parameter is left to train in the stage {stage}.", "Choose another stage."
        )
    return separated


def _separate_new_embeddings(
    network: "transformers.PreTrainedModel", new: list[int], stage: str
) -> "SeparatedEmbeddings | None":
    """Separate the new embeddings for training.

    Without new tokens, the stage "embeddings" trains all embeddings, and the stage "extension"
    none.
    """
    import torch

    from vocadapt.training.separated_embeddings import SeparatedEmbeddings

    if new:
        separated = SeparatedEmbeddings(network, torch.tensor(new))
        separated.separate()
        return separated
    if stage == "embeddings":
        output_weights = getattr(get_output_layer(network), "weight", None)
        for value in (get_embeddings(network), get_output_bias(network), output_weights):
            if value is not None:
                cast(Any, value).requires_grad = True
    return None
