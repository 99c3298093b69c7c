"""Estimated duration of a fine-tuning before it starts, from a measured or modeled speed."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from vocadapt.models.extension_size import ModuleSize
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.tasks.examples import Example
from vocadapt.training.tasks.task import Task

# a second of two cores: MiniLM (6 layers of 384) reads 46.9 sentences of NCBI-disease a second in
# training
FLOPS = 1.0e11
PIECES = 1.4  # wordpieces of a word
SCORING = 1 / 3  # of the work that training on an example is


@dataclass(frozen=True)
class Estimate:
    """Examples read in training by all seeds, examples per second, seconds in all, and the source
    of the speed.
    """

    examples: int
    per_second: float
    seconds: float
    pace: str


def examples_of_epoch(
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
    epoch = examples_of_epoch(task, settings, tokenization, limit)
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
    most = settings.length / PIECES
    if settings.chunk and task.kind.divides_sentences:
        most = settings.chunk
    words = sum(min(_count_words(example), most) for example in examples) / max(len(examples), 1)
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
