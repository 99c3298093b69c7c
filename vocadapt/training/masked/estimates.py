"""What a further pretraining will read and how long it will take, said before it begins."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vocadapt.models.extension_size import ModuleSize
from vocadapt.training.finetune.estimates import FLOPS
from vocadapt.training.masked.trainer import MaskedSettings
from vocadapt.training.masked.training_text import HELD_OUT

STEP = 0.02  # seconds that a step takes beside its products
MOST_ASKED = 1.5  # times as many as usual are asked in the block with the most
TRAINED, PASSED = (
    6,
    4,
)  # operations a weight costs a wordpiece: forward and both gradients, or forward and that of its input


@dataclass(frozen=True)
class PretrainingCost:
    """Wordpieces read in all, steps, passes over the text, seconds, wordpieces a second, and where
    that pace is from.
    """

    tokens: int
    steps: int
    epochs: float
    seconds: float
    per_second: float
    pace: str


def estimate_pretraining_cost(
    wordpieces: int, settings: MaskedSettings, per_second: float, pace: str
) -> PretrainingCost:
    """The cost of a budget on a text of so many wordpieces, a hundredth of which is held out."""
    size = settings.batch * settings.length
    rows = max(1, int(wordpieces * (1 - HELD_OUT)) // (settings.length - 2))
    once = rows * settings.length
    asked = (
        settings.hours * 3600 * per_second
        if settings.hours
        else settings.tokens or settings.epochs * once
    )
    steps = max(1, round(asked / size))
    return PretrainingCost(
        steps * size, steps, steps * size / once, steps * size / per_second, per_second, pace
    )


def estimate_pretraining_pace(
    config: Mapping[str, Any], stage: str, settings: MaskedSettings
) -> float:
    """Wordpieces a second on two cores, from a model's layers, width, module and vocabulary, and
    from what the stage trains.
    """
    width, asked = int(config.get("hidden_size", 768)), min(1.0, MOST_ASKED * settings.share)
    layers = (
        int(config.get("num_hidden_layers", 12)) - 1 + (1 + 5 * asked) / 6
    )  # the last: keys and values, the rest where asked
    own = 12 * width**2
    frozen = stage in ("extension", "embeddings")
    module = own * ModuleSize.beside(config).share * (PASSED if stage == "embeddings" else TRAINED)
    head = (
        settings.share
        * (width**2 + width * int(config.get("vocab_size", 30_000)))
        * (PASSED if frozen else TRAINED)
    )
    operations = layers * (own * (PASSED if frozen else TRAINED) + module) + head
    return 1 / (operations / FLOPS + STEP / (settings.batch * settings.length))
