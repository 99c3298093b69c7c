"""Estimated size and duration of continued pretraining, before it starts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vocadapt.models.extension_size import ModuleSize
from vocadapt.training.finetune.estimates import FLOPS
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.masked.training_text import HELD_OUT

STEP = 0.02  # constant seconds per step, besides the matrix products
# The last layer runs at as many positions as the block with the most masked tokens has: about 1.5
# times the masking probability.
MASKED_RATIO = 1.5
# Operations per weight and wordpiece: forward pass and both gradients of a trained weight; forward
# pass and the gradient of the input of a frozen one.
TRAINED, PASSED = 6, 4


@dataclass(frozen=True)
class PretrainingCost:
    """Wordpieces read in all, steps, epochs, seconds, wordpieces per second, and the source of that
    speed.
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
    """Estimate the cost of a budget on a text of `wordpieces`, of which 1 % is held out."""
    size = settings.batch * settings.length
    rows = max(1, int(wordpieces * (1 - HELD_OUT)) // (settings.length - 2))
    once = rows * settings.length
    tokens = settings.tokens or settings.epochs * once
    if settings.hours:
        tokens = settings.hours * 3600 * per_second
    steps = max(1, round(tokens / size))
    return PretrainingCost(
        steps * size, steps, steps * size / once, steps * size / per_second, per_second, pace
    )


def estimate_pretraining_pace(
    config: Mapping[str, Any], stage: str, settings: MaskedSettings
) -> float:
    """Estimate the wordpieces per second on two CPU cores from a model's layers, width, modules and
    vocabulary, and from the parameters that the stage trains.
    """
    width = int(config.get("hidden_size", 768))
    vocabulary = int(config.get("vocab_size", 30_000))
    masked = min(1.0, MASKED_RATIO * settings.share)
    # The last layer needs keys and values everywhere, a sixth of its work, and the rest only at
    # masked positions.
    layers = int(config.get("num_hidden_layers", 12)) - 1 + (1 + 5 * masked) / 6
    per_weight = PASSED if stage in ("extension", "embeddings") else TRAINED
    per_module_weight = PASSED if stage == "embeddings" else TRAINED
    layer = 12 * width**2
    module = layer * ModuleSize.from_config(config).share * per_module_weight
    head = settings.share * (width**2 + width * vocabulary) * per_weight
    operations = layers * (layer * per_weight + module) + head
    return 1 / (operations / FLOPS + STEP / (settings.batch * settings.length))
