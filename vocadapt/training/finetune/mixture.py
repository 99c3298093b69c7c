"""Two tokenizations of one example: which one a training reads, and how their outputs become one
when predicting.

Which cut an example is read in, and in which step, depends on the seed, the epoch and the example
alone: whoever stops and goes on meets the same examples in the same cuts, whatever else was drawn
meanwhile.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vocadapt.errors import InputError
from vocadapt.training.finetune.encoding import ADAPTED, BASE, Encoded, View
from vocadapt.training.finetune.outputs import (
    QUESTION,
    SEQUENCE,
    TOKEN,
    Logits,
    Targets,
)
from vocadapt.training.labels import IGNORE_INDEX

if TYPE_CHECKING:
    import torch

Batch = dict[str, "torch.Tensor"]
POOLED = "pooled"
CUTS = (
    BASE,
    ADAPTED,
    POOLED,
)  # what is said of an example: under each cut, and by the mean of both
TOKENIZATIONS = {
    BASE: "as the model cut before it was adapted",
    ADAPTED: "as the adapted model cuts",
    "mixed": "each example in one of both cuts, by the toss of a coin that is repeated every epoch",
    "both": "each example in both cuts, every epoch",
}
CHOICES = (*TOKENIZATIONS, POOLED)  # by which a cut can be chosen: see chosen_cut
COINS, ORDER = 1, 2  # what is drawn, beside the seed and the epoch
GROUP = 50  # batches that are sorted by length together


class Item(NamedTuple):
    """A chunk by its number, and the cut that it is read in."""

    chunk: int
    cut: str


def check_tokenization(tokenization: str, cuts: Sequence[str]) -> str:
    """The tokenization itself, "" becoming the usual one: mixed where there are two cuts, else the
    only one.

    Raises InputError for one that a model with these cuts does not have.
    """
    if tokenization and tokenization not in TOKENIZATIONS:
        raise InputError(
            f"Unknown tokenization {tokenization!r}.", f"Choose one of: {', '.join(TOKENIZATIONS)}."
        )
    if not tokenization:
        return "mixed" if len(cuts) > 1 else cuts[0]
    wanted = [tokenization] if tokenization in (BASE, ADAPTED) else [BASE, ADAPTED]
    if lacking := [name for name in wanted if name not in cuts]:
        why = (
            "no token was added to it"
            if lacking == [ADAPTED]
            else "it has no rows for all tokens of its original vocabulary"
        )
        raise InputError(
            f"The model has no {lacking[0]} cut: {why}.", f"It has: {', '.join(cuts)}."
        )
    return tokenization


def choose_main_tokenization(cuts: Iterable[str]) -> str:
    """The cut that a run is judged by: pooled where there are two, else the only one; "" where
    there is none.
    """
    cuts = list(cuts)
    return POOLED if POOLED in cuts else next(iter(cuts), "")


def select_tokenization(cuts: Iterable[str], cut: str) -> str:
    """A cut by name; "", mixed and both mean pooled, or the only one. Raises InputError for one
    that is not there.
    """
    cuts = list(cuts)
    if cut in ("", "mixed", "both") or (cut == POOLED and len(cuts) == 1):
        return choose_main_tokenization(cuts)
    if cut not in cuts:
        raise InputError(f"There is no {cut!r} cut.", f"The run has: {', '.join(cuts)}.")
    return cut


def label_tokenization(cut: str) -> str:
    """A cut as people read it: base cut, adapted cut, pooled."""
    return cut if cut == POOLED else f"{cut} cut"


@dataclass(frozen=True, eq=False)
class FinetuningDataset:
    """The batches of all epochs, as a torch dataset whose items are whole steps.

    With `grouped`, examples of about the same length share a batch, so that little is padded; the
    order of the batches is drawn.
    """

    encoded: Encoded
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
        """Steps of an epoch."""
        items = len(self.encoded) * (2 if self.tokenization == "both" else 1)
        return -(-items // self.batch)

    def __getitem__(self, step: int) -> Batch:
        if not 0 <= step < len(self):
            raise IndexError(step)
        items = self.epoch(step // self.steps)[step % self.steps]
        views = [self.encoded.views[item.cut][item.chunk] for item in items]
        return batch_of(views, self.pad, [self.targets[item.chunk] for item in items], self.head)

    def drawn(self, epoch: int) -> list[Item]:
        """The cut of every chunk in an epoch, in the order of the chunks."""
        chunks = range(len(self.encoded))
        if self.tokenization == "both":
            return [Item(chunk, cut) for chunk in chunks for cut in (BASE, ADAPTED)]
        if self.tokenization != "mixed":
            return [Item(chunk, self.tokenization) for chunk in chunks]
        coins = np.random.default_rng([self.seed, COINS, epoch]).integers(2, size=len(self.encoded))
        return [
            Item(chunk, (BASE, ADAPTED)[coin]) for chunk, coin in zip(chunks, coins, strict=True)
        ]

    def epoch(self, epoch: int) -> list[list[Item]]:
        """The batches of an epoch."""
        kept: dict[int, list[list[Item]]] = self.__dict__.setdefault("_kept", {})
        if epoch not in kept:
            kept.clear()
            kept[epoch] = self._batches(epoch)
        return kept[epoch]

    def _batches(self, epoch: int) -> list[list[Item]]:
        rng = np.random.default_rng([self.seed, ORDER, epoch])
        items = self.drawn(epoch)
        items = [items[place] for place in rng.permutation(len(items))]
        if not self.grouped:
            return [items[start : start + self.batch] for start in range(0, len(items), self.batch)]
        width, batches = GROUP * self.batch, list[list[Item]]()
        for start in range(0, len(items), width):
            group = sorted(
                items[start : start + width],
                key=lambda item: -len(self.encoded.views[item.cut][item.chunk].ids),
            )
            batches += [
                group[first : first + self.batch] for first in range(0, len(group), self.batch)
            ]
        return [batches[place] for place in rng.permutation(len(batches))]


def batch_of(
    views: Sequence[View], pad: int, targets: Sequence[Targets] | None = None, head: str = TOKEN
) -> Batch:
    """Views padded to the longest of them, as tensors; targets stand at the places that count,
    NOT_ASKED elsewhere.
    """
    import torch

    width = max(len(view.ids) for view in views)
    ids = np.full((len(views), width), pad, dtype=np.int64)
    mask, segments = np.zeros_like(ids), np.zeros_like(ids)
    for row, view in enumerate(views):
        ids[row, : len(view.ids)] = view.ids
        mask[row, : len(view.ids)] = 1
        if view.second:
            segments[row, view.second : len(view.ids)] = 1
    arrays: dict[str, Targets] = {
        "input_ids": ids,
        "attention_mask": mask,
        "token_type_ids": segments,
    }
    if targets is not None:
        arrays["labels"] = _labels(views, targets, ids.shape, head)
    return {name: torch.from_numpy(values) for name, values in arrays.items()}


def select_inputs(network: Any, batch: Batch) -> Batch:
    """What a network takes of a batch: not every one tells first from second texts (DistilBERT has
    no such rows).
    """
    kinds = getattr(getattr(network, "config", None), "type_vocab_size", 0)
    return {name: values for name, values in batch.items() if name != "token_type_ids" or kinds > 1}


def _labels(
    views: Sequence[View], targets: Sequence[Targets], shape: tuple[int, ...], head: str
) -> Targets:
    """Of words: a row as wide as the ids; of whole sequences: one target, or one row of them, each;
    of questions: two places.
    """
    if head == SEQUENCE:
        return np.concatenate(list(targets))
    if head == QUESTION:
        return np.array(
            [_answer_places(view, own) for view, own in zip(views, targets, strict=True)],
            dtype=np.int64,
        )
    labels = np.full(shape, IGNORE_INDEX, dtype=np.int64)
    for row, (view, own) in enumerate(zip(views, targets, strict=True)):
        labels[row, view.places] = own
    return labels


def _answer_places(view: View, words: Targets) -> tuple[int, int]:
    """First and last piece of the words from the first target to the second; [CLS] where they are
    not all in the view.
    """
    inside = view.places[(view.rows >= words[0]) & (view.rows <= words[1])]
    whole = len(inside) and view.rows[0] <= words[0] and words[1] <= view.rows[-1]
    return (int(inside[0]), int(inside[-1])) if whole else (0, 0)


def pooled(logits: Mapping[str, Sequence[Logits]]) -> dict[str, tuple[Logits, ...]]:
    """Logits by cut, and where there are two, their mean: for each example an array (rows,
    outputs).

    Poerner et al. (2020), 4.2: at the first piece of a word, and for a whole sequence at its one
    row.
    """
    found = {name: tuple(own) for name, own in logits.items()}
    if len(found) > 1:
        found[POOLED] = tuple(
            np.mean(rows, axis=0, dtype=np.float32) for rows in zip(*logits.values(), strict=True)
        )
    return found
