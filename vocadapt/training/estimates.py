"""The work of fine-tuning and of masked-language-model training, from their settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from vocadapt.models.config_sizes import WIDTHS, count_layers, find_size
from vocadapt.models.extension_size import ModuleSize
from vocadapt.system.forecasts import DEFAULT_THREADS, Work
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
WORDPIECES_PER_WORD = 1.4
BYTES_PER_WORDPIECE = 5  # of text
USUAL_LAYERS, USUAL_WIDTH = 12, 768  # for a config without these sizes
SCORING_COST = 1 / 3  # cost of scoring an example, relative to training on it


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


def measure_finetuning(
    task: Task,
    settings: FinetuneSettings,
    tokenization: str,
    n_runs: int,
    config: Mapping[str, Any],
    threads: int = 0,
) -> Work:
    """Return the work of training and scoring all runs.

    n_runs: number of seeds and folds. config: of the model. threads: 0 for DEFAULT_THREADS.
    """
    epoch = count_examples_per_epoch(task, settings, tokenization)
    scored = 0
    if "dev" in task.splits and not settings.with_dev:
        dev = count_chunks(task, task.splits["dev"].examples, settings)
        scored += settings.epochs * dev
    if "test" in task.splits:
        scored += count_chunks(task, task.splits["test"].examples, settings)
    per_second = estimate_finetuning_speed(task, settings, config)
    per_second *= (threads or DEFAULT_THREADS) / DEFAULT_THREADS
    seconds = n_runs * (settings.epochs * epoch + SCORING_COST * scored) / per_second
    about = f"{epoch:,} × {settings.epochs} epoch{'s' * (settings.epochs != 1)}"
    about += f" × {n_runs:,} training{'s' * (n_runs != 1)}"
    return Work(n_runs * settings.epochs * epoch, "examples", seconds, about)


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


def measure_pretraining(
    text_bytes: int,
    settings: MaskedSettings,
    config: Mapping[str, Any],
    stage: str,
    threads: int = 0,
) -> Work:
    """Return the work of a training budget on a text of a size in bytes.

    config: of the model. stage: the parameters that are trained. threads: 0 for DEFAULT_THREADS.
    """
    per_second = estimate_pretraining_speed(config, stage, settings)
    per_second *= (threads or DEFAULT_THREADS) / DEFAULT_THREADS
    about = f"the text has about {text_bytes // BYTES_PER_WORDPIECE:,} wordpieces"
    if settings.budget == "hours":
        seconds = settings.hours * 3600
        return Work(seconds * per_second, "wordpieces", seconds, about, is_timed=True)
    once = count_blocks(text_bytes, settings) * settings.length
    per_step = settings.batch * settings.length
    steps = max(1, round((settings.tokens or settings.epochs * once) / per_step))
    tokens = steps * per_step
    about = f"{steps:,} step{'s' * (steps != 1)}, {tokens / once:.2f} epochs; {about}"
    return Work(tokens, "wordpieces", tokens / per_second, about)


def count_blocks(text_bytes: int, settings: MaskedSettings) -> int:
    """Estimate the number of blocks of a text to train on, of which a part is held out.

    Each block also contains [CLS] and [SEP].
    """
    wordpieces = text_bytes // BYTES_PER_WORDPIECE
    return max(1, int(wordpieces * (1 - HELD_OUT)) // (settings.length - 2))


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
