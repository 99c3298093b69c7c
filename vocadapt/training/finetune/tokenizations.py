"""Fine-tuning and prediction under the tokenizations of a model: the tokenization of each training
example, the batches, and the pooling of logits.

The tokenization and the batch of an example depend only on seed, epoch and example, so an
interrupted training resumes with the same batches.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vocadapt.errors import InputError, check_choice
from vocadapt.models.heads import EMBEDDING, QUESTION, SEQUENCE, TOKEN
from vocadapt.training.encoding.encoding import EncodedExamples, View
from vocadapt.training.encoding.model_tokenizers import ADAPTED, BASE
from vocadapt.training.labels import IGNORE_INDEX, Logits, Targets
from vocadapt.training.tasks.kinds import TaskKind

if TYPE_CHECKING:
    import torch

Batch = dict[str, "torch.Tensor"]
POOLED = "pooled"
ALL_TOKENIZATIONS = (BASE, ADAPTED, POOLED)  # predictions under each, and from their mean
TOKENIZATIONS = {
    BASE: "tokenized by the original model",
    ADAPTED: "tokenized by the adapted model",
    "mixed": "each example under one of the two tokenizations, at random in every epoch",
    "both": "each example under both tokenizations in every epoch",
}
CHOICES = (*TOKENIZATIONS, POOLED)  # names accepted by select_tokenization
# Part of the seed of a random generator, in addition to the run's seed and the epoch.
TOKENIZATION_DRAW, ORDER_DRAW = 1, 2
GROUP = 50  # number of batches whose examples are sorted by length together


class Item(NamedTuple):
    """A chunk by its index, and its tokenization."""

    chunk: int
    tokenization: str


def check_tokenization(tokenization: str, tokenizations: Sequence[str]) -> str:
    """Return the tokenization to train with; raises InputError if the model does not have it.

    "" means "mixed" for a model with two tokenizations, else its only one.
    """
    if tokenization:
        check_choice("tokenization", tokenization, TOKENIZATIONS)
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
            code="no-tokenization",
        )
    return tokenization


def choose_main_tokenization(tokenizations: Iterable[str]) -> str:
    """Return the tokenization that a run is compared by: "pooled" if there are two, else the only
    one, or "" if there is none.
    """
    tokenizations = list(tokenizations)
    if POOLED in tokenizations:
        return POOLED
    return next(iter(tokenizations), "")


def select_tokenization(tokenizations: Iterable[str], tokenization: str) -> str:
    """Return a tokenization by name; raises InputError if it does not exist.

    "", "mixed" and "both" mean pooled, or the only tokenization.
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
            code="no-tokenization",
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

    kind: of the task. grouped: whether to group examples of similar length in a batch, to reduce
    padding; the order of the batches is random.
    """

    encoded: EncodedExamples
    targets: Sequence[Targets]
    tokenization: str
    pad: int
    batch: int
    epochs: int
    seed: int
    kind: TaskKind
    grouped: bool = True

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
        targets = [self.targets[item.chunk] for item in items]
        return build_batch(views, self.pad, targets, self.kind.head)

    def draw_items(self, epoch: int) -> list[Item]:
        """Draw the tokenization of every chunk in an epoch, in the order of the chunks."""
        chunks = range(len(self.encoded))
        if self.tokenization == "both":
            return [Item(chunk, name) for chunk in chunks for name in (BASE, ADAPTED)]
        if self.tokenization != "mixed":
            return [Item(chunk, self.tokenization) for chunk in chunks]
        rng = np.random.default_rng([self.seed, TOKENIZATION_DRAW, epoch])
        drawn = rng.integers(2, size=len(self.encoded))
        return [Item(chunk, (BASE, ADAPTED)[drawn[chunk]]) for chunk in chunks]

    def epoch(self, epoch: int) -> list[list[Item]]:
        """Return the batches of an epoch."""
        cache: dict[int, list[list[Item]]] = self.__dict__.setdefault("_cache", {})
        if epoch not in cache:
            cache.clear()
            cache[epoch] = self._draw_batches(epoch)
        return cache[epoch]

    def _draw_batches(self, epoch: int) -> list[list[Item]]:
        """Shuffle the items of an epoch and divide them into batches.

        If grouped, sort the items by length within large groups first, and shuffle the batches.
        """
        rng = np.random.default_rng([self.seed, ORDER_DRAW, epoch])
        items = self.draw_items(epoch)
        items = [items[index] for index in rng.permutation(len(items))]
        if not self.grouped:
            return divide(items, self.batch)
        batches: list[list[Item]] = []
        views = self.encoded.views
        for group in divide(items, GROUP * self.batch):
            group.sort(key=lambda item: -len(views[item.tokenization][item.chunk].ids))
            batches += divide(group, self.batch)
        return [batches[index] for index in rng.permutation(len(batches))]


def divide(items: list[Item], size: int) -> list[list[Item]]:
    """Divide a list into parts of at most `size` items."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def build_batch(
    views: Sequence[View], pad: int, targets: Sequence[Targets] | None = None, head: str = TOKEN
) -> Batch:
    """Pad the sequences of views to the longest one and return them as tensors.

    Labels of positions that are not scored are IGNORE_INDEX.
    """
    import torch

    # 1. Ids, attention mask and segments, padded at the end.
    sequences = [(view, own) for view in views for own in view.sequences]
    width = max(len(own) for _, own in sequences)
    ids = np.full((len(sequences), width), pad, dtype=np.int64)
    mask = np.zeros_like(ids)
    segments = np.zeros_like(ids)
    for row, (view, own) in enumerate(sequences):
        ids[row, : len(own)] = own
        mask[row, : len(own)] = 1
        if view.second and not view.apart:
            segments[row, view.second : len(own)] = 1
    # 2. Model inputs by name; labels only for training.
    arrays: dict[str, Targets] = {
        "input_ids": ids,
        "attention_mask": mask,
        "token_type_ids": segments,
    }
    if targets is not None:
        arrays["labels"] = _build_labels(views, targets, ids.shape, head)
    return {name: torch.from_numpy(values) for name, values in arrays.items()}


def select_inputs(network: Any, batch: Batch) -> Batch:
    """Return the inputs that a network accepts.

    A network without segment embeddings, such as DistilBERT, gets no token_type_ids.
    """
    n_types = getattr(getattr(network, "config", None), "type_vocab_size", 0)
    if n_types > 1:
        return dict(batch)
    return {name: values for name, values in batch.items() if name != "token_type_ids"}


def _build_labels(
    views: Sequence[View], targets: Sequence[Targets], shape: tuple[int, ...], head: str
) -> Targets:
    """Return the labels of a batch.

    Labels of words have the shape of the ids. Each sequence has one target or one row of targets,
    each question two positions, and examples that are embedded have what their loss needs.
    """
    if head in (SEQUENCE, EMBEDDING):
        return np.concatenate(list(targets))
    if head == QUESTION:
        return np.array(list(map(_find_answer_places, views, targets)), dtype=np.int64)
    labels = np.full(shape, IGNORE_INDEX, dtype=np.int64)
    for row, (view, own) in enumerate(zip(views, targets, strict=True)):
        labels[row, view.places] = own
    return labels


def _find_answer_places(view: View, words: Targets) -> tuple[int, int]:
    """Return the positions of the first and last wordpiece of an answer.

    Returns (0, 0), which is [CLS], if the view does not contain the whole answer.
    """
    inside = view.places[(view.rows >= words[0]) & (view.rows <= words[1])]
    is_whole = len(inside) and view.rows[0] <= words[0] and words[1] <= view.rows[-1]
    if not is_whole:
        return 0, 0
    return int(inside[0]), int(inside[-1])


def pool_logits(logits: Mapping[str, Sequence[Logits]]) -> dict[str, tuple[Logits, ...]]:
    """Return the logits by tokenization and, if there are two, their mean as "pooled".

    The logits of an example are (rows, outputs) float32. Source: Poerner et al. 2020, section 4.2.
    """
    found = {name: tuple(own) for name, own in logits.items()}
    if len(found) > 1:
        pairs = zip(*logits.values(), strict=True)
        found[POOLED] = tuple(np.mean(rows, axis=0, dtype=np.float32) for rows in pairs)
    return found
