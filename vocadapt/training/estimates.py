"""Estimates of the duration of fine-tuning and of continued pretraining before they start, from a
measured or modeled speed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vocadapt.models.config_sizes import WIDTHS, count_layers, find_size
from vocadapt.models.extension_size import ModuleSize
from vocadapt.training.encoding.encoding import divide_into_chunks
from vocadapt.training.examples.examples import Example, Split
from vocadapt.training.examples.tags import decode_spans
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.tasks.task import Task
from vocadapt.training.training_text import HELD_OUT

# Operations per second on two CPU cores, from a measurement: MiniLM (6 layers, hidden size 384)
# trains on 46.9 sentences of NCBI-disease per second.
FLOPS = 1.0e11
THREADS_OF_SPEED = 2  # number of threads that it was measured with
WORDPIECES_PER_WORD = 1.4
BYTES_PER_WORDPIECE = 5  # of text; an estimate for texts whose words were not counted
USUAL_LAYERS, USUAL_WIDTH = 12, 768  # for a config without these sizes
SCORING_COST = 1 / 3  # cost of scoring an example, relative to training on it


@dataclass(frozen=True)
class Estimate:
    """Estimated duration of a fine-tuning.

    examples: number of examples to train on, over all seeds. seconds: total duration.
    speed_source: where `per_second` comes from.
    """

    examples: int
    per_second: float
    seconds: float
    speed_source: str


def list_trained_splits(task: Task, settings: FinetuneSettings) -> list[Split]:
    """List the splits that are trained on."""
    names = ("train", "dev") if settings.with_dev else ("train",)
    return [task.splits[name] for name in names if name in task.splits]


def count_examples_per_epoch(task: Task, settings: FinetuneSettings, tokenization: str) -> int:
    """Count the examples of an epoch.

    A long tagged sentence counts once per chunk. With the tokenization "both" every example counts
    twice.
    """
    splits = list_trained_splits(task, settings)
    chunks = sum(count_chunks(task, split.examples, settings) for split in splits)
    return chunks * (2 if tokenization == "both" else 1)


def estimate(
    task: Task,
    settings: FinetuneSettings,
    tokenization: str,
    seeds: int,
    per_second: float,
    speed_source: str,
) -> Estimate:
    """Estimate training and scoring of all seeds from a speed in examples per second."""
    epoch = count_examples_per_epoch(task, settings, tokenization)
    scored = 0
    if "dev" in task.splits and not settings.with_dev:
        dev = count_chunks(task, task.splits["dev"].examples, settings)
        scored += settings.epochs * dev
    if "test" in task.splits:
        scored += count_chunks(task, task.splits["test"].examples, settings)
    seconds = seeds * (settings.epochs * epoch + SCORING_COST * scored) / per_second
    return Estimate(seeds * settings.epochs * epoch, per_second, seconds, speed_source)


def estimate_finetuning_speed(
    task: Task, settings: FinetuneSettings, config: Mapping[str, Any]
) -> float:
    """Estimate the examples per second on two CPU cores.

    The estimate uses a model's number of layers, hidden size and extension modules, and the mean
    length of an example.
    """
    layers = count_layers(config) or USUAL_LAYERS
    width = find_size(config, WIDTHS)[1] or USUAL_WIDTH
    examples = task.split("train").examples
    max_words = settings.length / WORDPIECES_PER_WORD
    if settings.chunk and task.kind.divides_sentences:
        max_words = settings.chunk
    words = sum(min(_count_words(example), max_words) for example in examples) / max(
        len(examples), 1
    )
    with_modules = 1 + ModuleSize.from_config(config).share
    wordpieces = WORDPIECES_PER_WORD * words + 2
    return FLOPS / (6 * layers * 12 * width**2 * with_modules * wordpieces)


def count_chunks(task: Task, examples: Sequence[Example], settings: FinetuneSettings) -> int:
    """Count the chunks into which the examples of a split are divided by their words; the examples
    themselves if they are not.

    Example, chunks of 3 words: sentences of 2 and 7 words -> 1 + 3 chunks.
    """
    if not settings.chunk or not task.kind.divides_sentences:
        return len(examples)
    n_chunks = 0
    for example in examples:
        n_words = _count_words(example)
        if n_words <= settings.chunk:
            n_chunks += 1
            continue
        spans = [(span.start, span.end) for span in decode_spans(example.gold or ())]
        n_chunks += len(divide_into_chunks(n_words, spans, settings.chunk))
    return n_chunks


def _count_words(example: Example) -> int:
    return len(example.list_words(str.split))


STEP_OVERHEAD = 0.02  # seconds per step in addition to the matrix products
# The last layer runs at the same number of positions in every block of a batch, that of the block
# with the most masked tokens: about 1.5 times the masking probability.
MASKED_RATIO = 1.5
# Operations per weight and wordpiece. Trained weights need a forward pass and the gradients of
# weights and inputs; frozen weights need a forward pass and the gradient of inputs.
TRAINED, FROZEN = 6, 4


@dataclass(frozen=True)
class PretrainingCost:
    """Estimated cost of a continued pretraining.

    tokens: wordpieces to train on. tokens_per_step, tokens_per_epoch: wordpieces of a step, and of
    one pass over the text. per_second: wordpieces per second. speed_source: where `per_second`
    comes from.
    """

    tokens: int
    steps: int
    epochs: float
    tokens_per_step: int
    tokens_per_epoch: int
    seconds: float
    per_second: float
    speed_source: str


def estimate_pretraining_cost(
    wordpieces: int, settings: MaskedSettings, per_second: float, speed_source: str
) -> PretrainingCost:
    """Estimate the cost of a training budget on a text of `wordpieces`; 1 % of it is held out."""
    size = settings.batch * settings.length
    # Each block also contains [CLS] and [SEP].
    blocks = max(1, int(wordpieces * (1 - HELD_OUT)) // (settings.length - 2))
    once = blocks * settings.length
    tokens = settings.tokens or settings.epochs * once
    if settings.hours:
        tokens = settings.hours * 3600 * per_second
    steps = max(1, round(tokens / size))
    return PretrainingCost(
        tokens=steps * size,
        steps=steps,
        epochs=steps * size / once,
        tokens_per_step=size,
        tokens_per_epoch=once,
        seconds=steps * size / per_second,
        per_second=per_second,
        speed_source=speed_source,
    )


def estimate_pretraining_speed(
    config: Mapping[str, Any], stage: str, settings: MaskedSettings
) -> float:
    """Estimate the wordpieces per second on two CPU cores.

    The estimate uses a model's number of layers, hidden size, extension modules and vocabulary
    size, and which parameters the stage trains.
    """
    width = find_size(config, WIDTHS)[1] or USUAL_WIDTH
    vocabulary = int(config.get("vocab_size", 30_000))
    masked = min(1.0, MASKED_RATIO * settings.share)
    # The last layer computes keys and values at all positions, which is a sixth of its operations,
    # and all else at masked positions only.
    layers = (count_layers(config) or USUAL_LAYERS) - 1 + (1 + 5 * masked) / 6
    per_weight = FROZEN if stage in ("extension", "embeddings") else TRAINED
    per_module_weight = FROZEN if stage == "embeddings" else TRAINED
    layer = 12 * width**2
    module = layer * ModuleSize.from_config(config).share * per_module_weight
    head = settings.share * (width**2 + width * vocabulary) * per_weight
    operations = layers * (layer * per_weight + module) + head
    return 1 / (operations / FLOPS + STEP_OVERHEAD / (settings.batch * settings.length))
