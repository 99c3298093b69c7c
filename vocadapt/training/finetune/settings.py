"""Settings of fine-tuning, and the presets of the papers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from vocadapt.errors import InputError, check_choice
from vocadapt.settings import (
    ABOVE_ZERO,
    MAX_LEARNING_RATE,
    MINUTES_PER_YEAR,
    check_settings,
    setting,
)
from vocadapt.training.examples.context_windows import WORD_RULES
from vocadapt.training.schedules import SCHEDULES
from vocadapt.training.trained_parameters import TrainedParameters

TOP = re.compile(r"top-([1-9][0-9]?)")
FREEZE = {
    "all": "all parameters are trained",
    "embeddings": "all parameters but the embeddings are trained",
    "top-K": "only the top K layers and the head are trained",
    "head": "only the head is trained",
}
HOW_TO_FREEZE = "; ".join(f"{name}: {about}" for name, about in FREEZE.items())


@dataclass(frozen=True)
class FinetuneSettings(TrainedParameters):
    """Settings of fine-tuning with Adam.

    Without `with_dev`, the dev split is scored after every epoch, the weights of the best epoch are
    used, and training stops after `patience` epochs without improvement. If only new embeddings are
    trained (`trained`), the head is trained, too, and all layers are frozen.

    Raises InputError if both `trained` and `freeze` select parameters.
    """

    epochs: int = setting(
        5, "passes over the training examples", low=1, high=10_000, flag="--num-epochs"
    )
    batch: int = setting(
        16, "examples per step", low=1, high=65_536, label="Batch size", flag="--batch-size"
    )
    lr: float = setting(
        2e-4,
        "peak learning rate",
        low=ABOVE_ZERO,
        high=MAX_LEARNING_RATE,
        label="Learning rate",
        flag="--learning-rate",
    )
    length: int = setting(
        512,
        "maximum number of wordpieces per input",
        low=8,
        high=4096,
        label="Max length",
        flag="--max-length",
    )
    chunk: int = setting(
        30,
        "words per chunk of a tagged sentence; entities are never split",
        high=100_000,
        label="Words per chunk",
        empty="as many as fit",
    )
    warm_up: float = setting(
        0.1,
        "fraction of the steps with a rising learning rate",
        high=0.999,
        label="Warmup ratio",
        flag="--warmup-ratio",
    )
    schedule: str = setting(
        "linear",
        "learning-rate schedule",
        choices=SCHEDULES,
        label="LR scheduler",
        flag="--lr-scheduler",
    )
    weight_decay: float = setting(
        0.0, "weight decay of AdamW; embeddings that no example uses do not decay", high=100
    )
    clip: float = setting(
        1.0,
        "maximum norm of the gradient",
        low=ABOVE_ZERO,
        high=1 / ABOVE_ZERO,
        label="Max gradient norm",
        flag="--max-grad-norm",
    )
    freeze: str = setting("all", f"layers to train. {HOW_TO_FREEZE}", label="Trained layers")
    with_dev: bool = setting(
        False,
        "also train on the dev split: there is no dev score, and the last epoch is used",
        label="Train on dev",
    )
    patience: int = setting(
        0,
        "epochs without a better dev score before stopping early",
        high=10_000,
        empty="no early stopping",
    )
    ungrouped: bool = setting(
        False,
        "do not group batches by length; slower",
        label="No length grouping",
        flag="--no-group-by-length",
    )
    save_minutes: float = setting(
        5.0,
        "minutes between checkpoints",
        low=ABOVE_ZERO,
        high=MINUTES_PER_YEAR,
        label="Checkpoint minutes",
        flag="",
    )
    word_rule: str = setting(
        "code",
        "question answering: rule that splits the context into the words over which logits are"
        " pooled",
        choices=WORD_RULES,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.freeze not in FREEZE and not TOP.fullmatch(self.freeze):
            raise InputError(
                f"{self.freeze!r} does not select the layers to train.",
                f"Choose one of: {', '.join(FREEZE)}, such as top-3.",
                "freeze",
            )
        if self.freeze == "top-K":
            raise InputError(
                "The number of top layers to train is missing.", "Give it, such as top-3.", "freeze"
            )
        if self.only_new_embeddings and self.freeze != "all":
            raise InputError(
                f"Only new embeddings and the head would be trained, but {self.freeze} selects"
                " other parameters.",
                "Choose only one of the two.",
                "trained",
                code="two-selections",
            )

    @property
    def top(self) -> int | None:
        """Number of top layers that are trained; None unless `freeze` is "top-K"."""
        found = TOP.fullmatch(self.freeze)
        return int(found[1]) if found else None


@dataclass(frozen=True)
class Training:
    """A preset of fine-tuning: its description, settings and random seeds."""

    about: str
    settings: FinetuneSettings
    seeds: tuple[int, ...] = (1,)


FINETUNING_PRESETS: Mapping[str, Training] = {
    "quick": Training(
        "minutes on a CPU with a small model: 5 epochs, batch size 16, learning rate 2e-4 (5e-5 for"
        " a larger model)",
        FinetuneSettings(),
    ),
    "thesis": Training(
        "low-layer information integration, after Bio-LM: 10 epochs, batch size 8, learning rate"
        " 2e-5, 512 wordpieces, seed 142",
        FinetuneSettings(epochs=10, batch=8, lr=2e-5, chunk=0, warm_up=0.06),
        (142,),
    ),
    "poerner": Training(
        "GreenBioBERT: 100 epochs over train and dev, batch size 32, learning rate 1e-5 with 10 %"
        " warmup, chunks of 30 words, eight seeds",
        FinetuneSettings(epochs=100, batch=32, lr=1e-5, with_dev=True),
        tuple(range(1, 9)),
    ),
    "exbert": Training(
        "exBERT: 3 epochs of the top three layers, batch size 20, constant learning rate 1e-5, 256"
        " wordpieces",
        FinetuneSettings(
            epochs=3,
            batch=20,
            lr=1e-5,
            length=256,
            chunk=0,
            warm_up=0.0,
            schedule="constant",
            freeze="top-3",
        ),
    ),
}


def training_preset(name: str, **changes: int | float | str) -> FinetuneSettings:
    """Return the settings of a preset with some of them changed; raises InputError for an unknown
    preset.
    """
    check_choice("fine-tuning preset", name, FINETUNING_PRESETS)
    return replace(FINETUNING_PRESETS[name].settings, **changes)  # type: ignore[arg-type]
