"""Estimated duration of fine-tuning and of continued pretraining before they start, from a measured
or modeled speed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from vocadapt.models.extension_size import ModuleSize
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.masked.training_text import HELD_OUT
from vocadapt.training.tasks.examples import Example
from vocadapt.training.tasks.task import Task

# Operations per second of two CPU cores: in training, MiniLM (6 layers of 384) reads 46.9 sentences
# of NCBI-disease a second.
FLOPS = 1.0e11
PIECES = 1.4  # wordpieces per word
SCORING = 1 / 3  # cost of scoring an example, relative to training on it


@dataclass(frozen=True)
class Estimate:
    """Examples read in training by all seeds, examples per second, seconds in all, and the source
    of the speed.
    """

    examples: int
    per_second: float
    seconds: float
    pace: str


def count_examples_per_epoch(
    task: Task, settings: FinetuneSettings, tokenization: str, limit: int = 0
) -> int:
    """Count the examples of an epoch: a long tagged sentence counts once per chunk, and the
    tokenization "both" counts twice.
    """
    trained = ("train", "dev") if settings.with_dev else ("train",)
    splits = [task.splits[name].examples for name in trained if name in task.splits]
    parts = sum(_count_parts(task, examples, settings, limit) for examples in splits)
    return parts * (2 if tokenization == "both" else 1)


def estimate(
    task: Task,
    settings: FinetuneSettings,
    tokenization: str,
    seeds: int,
    per_second: float,
    pace: str,
    limit: int = 0,
) -> Estimate:
    """Estimate training and scoring of all seeds from a speed in examples per second."""
    epoch = count_examples_per_epoch(task, settings, tokenization, limit)
    scored = 0
    if "dev" in task.splits and not settings.with_dev:
        dev = _count_parts(task, task.splits["dev"].examples, settings, limit)
        scored += settings.epochs * dev
    if "test" in task.splits:
        scored += _count_parts(task, task.splits["test"].examples, settings, limit)
    seconds = seeds * (settings.epochs * epoch + SCORING * scored) / per_second
    return Estimate(seeds * settings.epochs * epoch, per_second, seconds, pace)


def estimate_finetuning_pace(
    task: Task, settings: FinetuneSettings, config: Mapping[str, Any]
) -> float:
    """Estimate the examples per second on two CPU cores from the layers, width and modules of a
    model and the mean length of an example.
    """
    layers, width = int(config.get("num_hidden_layers", 12)), int(config.get("hidden_size", 768))
    examples = task.split("train").examples
    max_words = settings.length / PIECES
    if settings.chunk and task.kind.divides_sentences:
        max_words = settings.chunk
    words = sum(min(_count_words(example), max_words) for example in examples) / max(
        len(examples), 1
    )
    beside = 1 + ModuleSize.from_config(config).share
    return FLOPS / (6 * layers * 12 * width**2 * beside * (PIECES * words + 2))


def _count_parts(
    task: Task, examples: tuple[Example, ...], settings: FinetuneSettings, limit: int
) -> int:
    """Count the examples, or chunks, of a split under a limit."""
    share = min(1.0, limit / len(examples)) if limit and examples else 1.0
    if not settings.chunk or not task.kind.divides_sentences:
        return ceil(share * len(examples))
    chunks = (max(1, ceil(_count_words(example) / settings.chunk)) for example in examples)
    return ceil(share * sum(chunks))


def _count_words(example: Example) -> int:
    return len(example.list_words(str.split))


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
    # [CLS] and [SEP] of each block are read in addition to the text.
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
