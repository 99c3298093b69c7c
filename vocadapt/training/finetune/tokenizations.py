"""The tokenizations of a model: which one an example is read in during training, the batches of a
training, and how the logits under both are pooled for prediction.

The tokenization of an example, and the step it is read in, depend on seed, epoch and example only,
so an interrupted training resumes with the same batches.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vocadapt.errors import InputError
from vocadapt.models.heads import QUESTION, SEQUENCE, TOKEN
from vocadapt.training.finetune.encoding import ADAPTED, BASE, EncodedExamples, View
from vocadapt.training.labels import IGNORE_INDEX, Logits, Targets

if TYPE_CHECKING:
    import torch

Batch = dict[str, "torch.Tensor"]
POOLED = "pooled"
ALL_TOKENIZATIONS = (BASE, ADAPTED, POOLED)  # predictions under each, and from their mean
TOKENIZATIONS = {
    BASE: "tokenized as before the adaptation",
    ADAPTED: "tokenized by the adapted model",
    "mixed": "each example under one of both tokenizations, at random in every epoch",
    "both": "each example under both tokenizations in every epoch",
}
CHOICES = (*TOKENIZATIONS, POOLED)  # names accepted by select_tokenization
COINS, ORDER = 1, 2  # purpose of a random generator, besides the seed and the epoch
GROUP = 50  # batches whose examples are sorted by length together


class Item(NamedTuple):
    """A chunk by its number, and the tokenization it is read in."""

    chunk: int
    tokenization: str


def check_tokenization(tokenization: str, tokenizations: Sequence[str]) -> str:
    """Return the tokenization to train with; "" becomes "mixed" for a model with two tokenizations,
    else its only one.

    Raises InputError if the model does not have it.
    """
    if tokenization and tokenization not in TOKENIZATIONS:
        raise InputError(
            f"Unknown tokenization {tokenization!r}.", f"Choose one of: {', '.join(TOKENIZATIONS)}."
        )
    if not tokenization and len(tokenizations) > 1:
        return "mixed"
    if not tokenization:
        return tokenizations[0]
    wanted = [BASE, ADAPTED]
    if tokenization in wanted:
        wanted = [tokenization]
    if lacking := [name for name in wanted if name not in tokenizations]:
        reason = "it lacks embeddings for some tokens of its original vocabulary"
        if lacking == [ADAPTED]:
            reason = "no token was added to it"
        raise InputError(
            f"The model has no {lacking[0]} tokenization: {reason}.",
            f"It has: {', '.join(tokenizations)}.",
        )
    return tokenization


def choose_main_tokenization(tokenizations: Iterable[str]) -> str:
    """Return the tokenization that a run is judged by: "pooled" if there are two, else the only
    one; "" if there is none.
    """
    tokenizations = list(tokenizations)
    if POOLED in tokenizations:
        return POOLED
    return next(iter(tokenizations), "")


def select_tokenization(tokenizations: Iterable[str], tokenization: str) -> str:
    """Return a tokenization by name; "", "mixed" and "both" mean pooled, or the only one. Raises
    InputError if it does not exist.
    """
    tokenizations = list(tokenizations)
    if tokenization in ("", "mixed", "both") or (
        tokenization == POOLED and len(tokenizations) == 1
    ):
        return choose_main_tokenization(tokenizations)
    if tokenization not in tokenizations:
        raise InputError(
            f"There is no {tokenization!r} tokenization.",
            f"The run has: {', '.join(tokenizations)}.",
        )
    return tokenization


def label_tokenization(tokenization: str) -> str:
    """Return a tokenization's label: base tokenization, adapted tokenization, pooled."""
    if tokenization == POOLED:
        return POOLED
    return f"{tokenization} tokenization"


@dataclass(frozen=True, eq=False)
class FinetuningDataset:
    """Torch dataset of the batches of all epochs; an item is a whole batch.

    grouped: examples of similar length share a batch, which needs little padding; the order of the
    batches is random.
    """

    encoded: EncodedExamples
    targets: Sequence[Targets]
    tokenization: str
    pad: int
    batch: int
    epochs: int
    seed: int
    grouped: bool = True
    head: str = TOKEN

    def __len__(self) -> int:
        return self.epochs * self.steps

    @property
    def steps(self) -> int:
        """Number of steps per epoch."""
        per_chunk = 1 + (self.tokenization == "both")
        return -(-len(self.encoded) * per_chunk // self.batch)

    def __getitem__(self, step: int) -> Batch:
        if not 0 <= step < len(self):
            raise IndexError(step)
        items = self.epoch(step // self.steps)[step % self.steps]
        views = [self.encoded.views[item.tokenization][item.chunk] for item in items]
        return build_batch(views, self.pad, [self.targets[item.chunk] for item in items], self.head)

    def draw_items(self, epoch: int) -> list[Item]:
        """Draw the tokenization of every chunk in an epoch, in the order of the chunks."""
        chunks = range(len(self.encoded))
        if self.tokenization == "both":
            return [Item(chunk, name) for chunk in chunks for name in (BASE, ADAPTED)]
        if self.tokenization != "mixed":
            return [Item(chunk, self.tokenization) for chunk in chunks]
        coins = np.random.default_rng([self.seed, COINS, epoch]).integers(2, size=len(self.encoded))
        return [Item(chunk, (BASE, ADAPTED)[coins[chunk]]) for chunk in chunks]

    def epoch(self, epoch: int) -> list[list[Item]]:
        """Return the batches of an epoch."""
        kept: dict[int, list[list[Item]]] = self.__dict__.setdefault("_kept", {})
        if epoch not in kept:
            kept.clear()
            kept[epoch] = self._draw_batches(epoch)
        return kept[epoch]

    def _draw_batches(self, epoch: int) -> list[list[Item]]:
        """Shuffle the items of an epoch; if grouped, sort them by length within large groups, and
        shuffle the batches.
        """
        rng = np.random.default_rng([self.seed, ORDER, epoch])
        items = self.draw_items(epoch)
        items = [items[place] for place in rng.permutation(len(items))]
        if not self.grouped:
            return divide(items, self.batch)
        batches: list[list[Item]] = []
        views = self.encoded.views
        for group in divide(items, GROUP * self.batch):
            group.sort(key=lambda item: -len(views[item.tokenization][item.chunk].ids))
            batches += divide(group, self.batch)
        return [batches[place] for place in rng.permutation(len(batches))]


def divide(items: list[Item], size: int) -> list[list[Item]]:
    """Divide a list into parts of at most `size` items."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def build_batch(
    views: Sequence[View], pad: int, targets: Sequence[Targets] | None = None, head: str = TOKEN
) -> Batch:
    """Pad views to the longest of them and return tensors; labels are at the scored positions,
    IGNORE_INDEX elsewhere.
    """
    import torch

    # 1. Ids, attention mask and segments, padded at the end.
    width = max(len(view.ids) for view in views)
    ids = np.full((len(views), width), pad, dtype=np.int64)
    mask, segments = np.zeros_like(ids), np.zeros_like(ids)
    for row, view in enumerate(views):
        ids[row, : len(view.ids)] = view.ids
        mask[row, : len(view.ids)] = 1
        if view.second:
            segments[row, view.second : len(view.ids)] = 1
    # 2. Names of the model's inputs; labels only for training.
    arrays: dict[str, Targets] = {
        "input_ids": ids,
        "attention_mask": mask,
        "token_type_ids": segments,
    }
    if targets is not None:
        arrays["labels"] = _labels(views, targets, ids.shape, head)
    return {name: torch.from_numpy(values) for name, values in arrays.items()}


def select_inputs(network: Any, batch: Batch) -> Batch:
    """Return the inputs that a network takes: one without segment embeddings (DistilBERT) gets no
    token_type_ids.
    """
    kinds = getattr(getattr(network, "config", None), "type_vocab_size", 0)
    return {name: values for name, values in batch.items() if name != "token_type_ids" or kinds > 1}


def _labels(
    views: Sequence[View], targets: Sequence[Targets], shape: tuple[int, ...], head: str
) -> Targets:
    """Return the labels of a batch: of words, shaped like the ids; of sequences, one target or one
    row of targets each; of questions, two positions each.
    """
    if head == SEQUENCE:
        return np.concatenate(list(targets))
    if head == QUESTION:
        return np.array(list(map(_find_answer_places, views, targets)), dtype=np.int64)
    labels = np.full(shape, IGNORE_INDEX, dtype=np.int64)
    for row, (view, own) in enumerate(zip(views, targets, strict=True)):
        labels[row, view.places] = own
    return labels


def _find_answer_places(view: View, words: Targets) -> tuple[int, int]:
    """Return the positions of the first and last wordpiece of an answer; (0, 0), which is [CLS], if
    the view does not contain all of it.
    """
    inside = view.places[(view.rows >= words[0]) & (view.rows <= words[1])]
    whole = len(inside) and view.rows[0] <= words[0] and words[1] <= view.rows[-1]
    if not whole:
        return 0, 0
    return int(inside[0]), int(inside[-1])


def pool_logits(logits: Mapping[str, Sequence[Logits]]) -> dict[str, tuple[Logits, ...]]:
    """Return logits by tokenization and, if there are two, their mean as "pooled": for each example
    (rows, outputs) float32.

    Poerner et al. 2020, section 4.2: at the first wordpiece of a word, or at the one row of a
    sequence.
    """
    found = {name: tuple(own) for name, own in logits.items()}
    if len(found) > 1:
        pairs = zip(*logits.values(), strict=True)
        found[POOLED] = tuple(np.mean(rows, axis=0, dtype=np.float32) for rows in pairs)
    return found
