"""Contextual vectors of words: the output of a layer, averaged over the occurrences in a text.

Fast 2023 calls something else contextual embeddings: the model's input embeddings, one vector for
each token, independent of its context (`LanguageModel.space`).
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from vocadapt.errors import InputError
from vocadapt.models import config_sizes
from vocadapt.models.config_sizes import INNER_WIDTHS, count_positions, find_size
from vocadapt.models.contextual.occurrences import (
    LAST,
    ContextualSettings,
    OccurrenceWindow,
    VectorTargets,
    iterate_windows,
)
from vocadapt.models.extension_size import ModuleSize
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, silent
from vocadapt.spaces.space import EmbeddingSpace, IntArray
from vocadapt.system.forecasts import Work

if TYPE_CHECKING:
    import torch
    import transformers

POOL = 32  # batches of windows that are sorted by length together, so that little is padding
SPEED = 45e9  # multiplications and additions per second (two cores, 2.5 GHz)


@dataclass(frozen=True, eq=False)
class ContextualVectors:
    """Averaged vectors with the corpus counts of their words, and the amount of text processed."""

    space: EmbeddingSpace
    layer: int
    layers: int
    occurrences: int
    windows: int
    tokens: int
    seconds: float


def compute_contextual_vectors(
    sentences: Path,
    targets: VectorTargets,
    model: LanguageModel,
    settings: ContextualSettings,
    progress: Progress = silent,
) -> ContextualVectors:
    """Run the network on the windows with a drawn occurrence, and average the vectors of each
    target.

    1. Read windows of the text, 32 batches at a time, and sort them by length: less padding.
    2. Run the network up to the layer on each batch.
    3. Add the vector of each occurrence (for a word, the mean of its pieces) to the sum of its
       target.
    4. Divide the sums (targets, width) by the numbers of occurrences.

    sentences: file of the pre-tokens of the text in which `targets` were counted.
    Computes in float32 on the CPU. Raises InputError for a layer that the model lacks, and for
    windows longer than its positions.
    """
    import torch

    layer = check_layer(model, settings)
    network = load_until_layer(model, layer)
    start = time.perf_counter()
    sums = torch.zeros(len(targets.names), network.config.hidden_size)
    size = max(sentences.stat().st_size, 1)
    total = 0
    tokens = 0
    source = iterate_windows(sentences, model.vocabulary, targets, settings, model.splitter)
    pad = model.vocabulary.role_ids.get("pad", 0)
    with torch.no_grad():
        while pool := list(islice(source, POOL * settings.batch)):
            windows = sorted((window for window, _ in pool), key=lambda window: len(window.ids))
            for first in range(0, len(windows), settings.batch):
                batch = windows[first : first + settings.batch]
                ids, attended = pad_batch([window.ids for window in batch], pad)
                output = network(input_ids=ids, attention_mask=attended, output_hidden_states=True)
                _add_vectors(sums, output.hidden_states[layer], batch)
                total += len(batch)
                tokens += sum(len(window.ids) for window in batch)
                speed = tokens / (time.perf_counter() - start)
                progress(pool[0][1] / size, f"layer {layer}: {tokens:,} wordpieces, {speed:,.0f}/s")
    taken = targets.taken(settings.occurrences)
    matrix = (sums.numpy() / taken[:, None]).astype(np.float32)
    space = EmbeddingSpace(targets.names, matrix, targets.counts, f"{model.name}, layer {layer}")
    return ContextualVectors(
        space,
        layer,
        count_layers(model),
        int(taken.sum()),
        total,
        tokens,
        time.perf_counter() - start,
    )


def check_layer(model: LanguageModel, settings: ContextualSettings) -> int:
    """Return the number of the layer to read, that of the last layer for −1; raises InputError for
    a layer that the model lacks, and for windows longer than its positions.
    """
    # Checked before the text is read, because transformers would fail only on a long window.
    model.check_rows()
    layers = count_layers(model)
    positions = count_positions(model.config) or 0
    check_state_layer(model, settings.layer, "layer")
    if 0 < positions < settings.length:
        raise InputError(
            f"{model.name} reads {positions} wordpieces at most, and windows of {settings.length}"
            " were requested.",
            f"Give a length of {positions} or less.",
            code="long-window",
        )
    if settings.layer == LAST:
        return layers
    return settings.layer


def check_state_layer(model: LanguageModel, layer: int, setting: str) -> None:
    """Raise InputError if a model has fewer layers; layer 0 is none. setting: its name."""
    if layer and layer > (layers := count_layers(model)):
        raise InputError(
            f"{model.name} has {layers} layers, and layer {layer} was requested.",
            f"Choose a layer of at most {layers}.",
            setting,
            code="missing-layer",
        )


def count_layers(model: LanguageModel) -> int:
    """Return the number of layers of a model; raises InputError if config.json does not have it."""
    layers = config_sizes.count_layers(model.config)
    if not isinstance(layers, int) or layers < 1:
        raise InputError(
            f"{model.path}: config.json does not have the number of layers.",
            "Check where the files came from.",
        )
    return layers


def count_max_tokens(
    counts: Mapping[str, int],
    targets: VectorTargets,
    model: LanguageModel,
    settings: ContextualSettings,
) -> int:
    """Return an upper bound of the wordpieces to process: those of the text, or of a full window
    for each occurrence, whichever is smaller.
    """
    tokenize = model.vocabulary.tokenize
    total = sum(count * len(tokenize(word)) for word, count in counts.items())
    return min(total, int(targets.taken(settings.occurrences).sum()) * settings.length)


def measure_contextual(tokens: int, model: LanguageModel, settings: ContextualSettings) -> Work:
    """Return the work of processing `tokens` wordpieces up to the layer."""
    layers = max(check_layer(model, settings), 1)
    seconds = estimate_seconds(model, tokens, settings.length, layers)
    return Work(tokens, "wordpieces", seconds)


def estimate_seconds(model: LanguageModel, wordpieces: int, length: int, layers: int) -> float:
    """Estimate the seconds to run the first layers on wordpieces in inputs of a length, on two CPU
    cores.
    """
    width = model.dim
    inner = int(find_size(model.config, INNER_WIDTHS)[1] or 4 * width)
    # Multiplications per wordpiece in one layer.
    multiplications = 4 * width**2 + 2 * width * inner + length * width
    relative_size = 1 + ModuleSize.from_config(model.config).share  # with an extension module
    return 2.0 * wordpieces * multiplications * relative_size * layers / SPEED


def load_until_layer(model: LanguageModel, layer: int) -> "transformers.PreTrainedModel":
    """Load the network in float32 without its head and, if its layers are named as in BERT and
    RoBERTa, without the layers above `layer`; the first layer is always kept.

    Other architectures keep all layers, because they may normalize the output of the last one.
    """
    from vocadapt.models.loading import load_network

    base: Any = cast(Any, load_network(model).network).base_model.float().eval()
    if hasattr(getattr(base, "encoder", None), "layer"):
        base.encoder.layer = base.encoder.layer[: max(layer, 1)]
    return base  # type: ignore[no-any-return]


def pad_batch(rows: Sequence[ArrayLike], pad: int) -> "tuple[torch.Tensor, torch.Tensor]":
    """Pad id sequences with `pad` to the longest one; return the ids and the attention mask, both
    (rows, longest) int64.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    ids = [torch.from_numpy(np.array(row, dtype=np.int64)) for row in rows]
    mask = [torch.ones_like(row) for row in ids]
    padded = pad_sequence(ids, batch_first=True, padding_value=pad)
    return padded, pad_sequence(mask, batch_first=True)


def iterate_batches(
    rows: Sequence[Sequence[int]], size: int, pad: int
) -> "Iterator[tuple[IntArray, torch.Tensor, torch.Tensor]]":
    """Yield padded batches of id sequences, shortest first, so that little is padding: the places
    of its rows, their ids and the attention mask.
    """
    order = np.argsort([len(row) for row in rows], kind="stable")
    for first in range(0, len(order), size):
        places = order[first : first + size]
        yield places, *pad_batch([rows[i] for i in places.tolist()], pad)


def _add_vectors(
    sums: "torch.Tensor", hidden: "torch.Tensor", batch: list[OccurrenceWindow]
) -> None:
    import torch

    rows = np.repeat(np.arange(len(batch)), [len(window.places) for window in batch])
    places = list(chain.from_iterable(window.places for window in batch))
    targets = list(chain.from_iterable(window.targets for window in batch))
    weights = list(chain.from_iterable(window.weights for window in batch))
    vectors = hidden[rows, places] * torch.tensor(weights)[:, None]
    sums.index_add_(0, torch.tensor(targets), vectors)
