"""Logits of encoded examples under each tokenization; the network processes each distinct sequence
once.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vocadapt.progress import Progress, silent
from vocadapt.training.encoding.encoding import EncodedExamples, View
from vocadapt.training.finetune.tokenizations import build_batch, select_inputs
from vocadapt.training.labels import Logits

if TYPE_CHECKING:
    import torch
    import transformers

MAX_BATCH_TOKENS = 4096  # maximum number of wordpieces per batch, padding included
LOWEST = -1e9  # logit of a word without a wordpiece


def compute_logits(
    network: "transformers.PreTrainedModel",
    encoded: EncodedExamples,
    pad: int,
    progress: Progress = silent,
) -> dict[str, tuple[Logits, ...]]:
    """Compute the logits of every example under every tokenization: (rows, outputs) float32.

    There is a row for each word, or one for the whole example; without a head, one embedding for
    each of its texts. The network stays in its train or eval mode.
    """
    # 1. Process each distinct sequence once: examples repeat, and the two tokenizations of an
    # example are often the same.
    computed: dict[bytes, Logits] = {}
    distinct = {_get_key(view): view for views in encoded.views.values() for view in views}
    training = network.training
    network.eval()
    try:
        done = 0
        for keys in _group_into_batches(distinct):
            logits = _compute_batch(network, [distinct[key] for key in keys], pad)
            computed |= zip(keys, logits, strict=True)
            done += len(keys)
            progress(done / len(distinct), f"{done:,} of {len(distinct):,} sequences")
    finally:
        network.train(training)
    # 2. Assign the logits to the views, and join those of each example.
    found = {
        name: [computed[_get_key(view)] for view in views] for name, views in encoded.views.items()
    }
    return {
        name: join_logits(found[name], views, encoded.sizes, encoded.mean)
        for name, views in encoded.views.items()
    }


def _get_key(view: View) -> bytes:
    return view.ids.tobytes() + view.second.to_bytes(4) + view.places.tobytes()


def _group_into_batches(views: Mapping[bytes, View]) -> list[list[bytes]]:
    """Sort sequences by length, longest first, and group them into batches of at most
    MAX_BATCH_TOKENS wordpieces with padding.
    """
    batches: list[list[bytes]] = []
    width = 0
    # The sort is stable: sequences of equal length stay in their order.
    for key in sorted(views, key=lambda key: -len(views[key].ids)):
        # The first sequence of a batch is its longest, so its length is the padded width of all.
        if not batches or (len(batches[-1]) + 1) * width > MAX_BATCH_TOKENS:
            batches.append([])
            width = len(views[key].ids)
        batches[-1].append(key)
    return batches


def _compute_batch(
    network: "transformers.PreTrainedModel", views: Sequence[View], pad: int
) -> list[Logits]:
    import torch

    batch = {name: values.to(network.device) for name, values in build_batch(views, pad).items()}
    with torch.inference_mode():
        outputs = network(**select_inputs(network, batch))
        logits = read_logits(outputs, batch["attention_mask"]).float().cpu().numpy()
    if logits.ndim == 2:  # one row of logits per sequence
        ends = np.cumsum([len(view.sequences) for view in views])[:-1]
        return [rows.copy() for rows in np.split(logits, ends)]
    return [logits[row, view.places].copy() for row, view in enumerate(views)]


def read_logits(outputs: Any, mask: "torch.Tensor") -> "torch.Tensor":
    """Return the logits of a network's outputs: (sequences, wordpieces, outputs), or (sequences,
    outputs); without a head, the mean of the last hidden states of each sequence, (sequences, dim).

    mask: attention mask (sequences, wordpieces).
    """
    import torch

    if "start_logits" in outputs:  # a question answering head
        return torch.stack([outputs.start_logits, outputs.end_logits], dim=2)
    if "logits" in outputs:
        return outputs["logits"]  # type: ignore[no-any-return]
    weights = mask[:, :, None].float()
    means: torch.Tensor = (outputs["last_hidden_state"].float() * weights).sum(1) / weights.sum(1)
    return means


def join_logits(
    found: Sequence[Logits], views: Sequence[View], sizes: Sequence[int], mean: bool = False
) -> tuple[Logits, ...]:
    """Join the logits of views to those of examples.

    Several logits for one row are combined by their mean if `mean`, else by their maximum,
    separately for each output.
    """
    width = found[0].shape[1] if found else 0
    if mean:
        sums = [np.zeros((size, width)) for size in sizes]
        counts = [np.zeros((size, 1)) for size in sizes]
        for rows, view in zip(found, views, strict=True):
            np.add.at(sums[view.owner], view.rows, rows)
            np.add.at(counts[view.owner], view.rows, 1)
        return tuple(
            (own / np.maximum(count, 1)).astype(np.float32)
            for own, count in zip(sums, counts, strict=True)
        )
    whole = [np.full((size, width), LOWEST, dtype=np.float32) for size in sizes]
    for rows, view in zip(found, views, strict=True):
        np.maximum.at(whole[view.owner], view.rows, rows)
    return tuple(whole)
