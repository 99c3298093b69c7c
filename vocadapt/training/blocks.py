"""Text as blocks of wordpieces for masked-word training: packed once, masked anew at every reading."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.vocabulary.wordpiece import Vocabulary

if TYPE_CHECKING:
    import torch

Ids = NDArray[np.int32]
NOT_ASKED = -100  # the label that torch's cross-entropy leaves out
MASKED, SHUFFLED = 0.8, 0.1  # shares of the asked wordpieces that are hidden, and replaced by another; the rest stays (BERT)


@dataclass(frozen=True, eq=False)
class Blocks:
    """A text as rows of wordpiece ids (blocks, length), between [CLS] and [SEP]; what does not fill the last is left out."""

    ids: Ids
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def tokens(self) -> int:
        """Wordpieces of one pass over the text, special tokens included."""
        return int(self.ids.size)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each id occurs."""
        return np.bincount(self.ids.ravel(), minlength=len(self.vocabulary))

    @cached_property
    def continues(self) -> NDArray[np.bool_]:
        """For each id, whether it goes on with the word before it."""
        prefix, special = self.vocabulary.continuation, self.vocabulary.special
        return np.array([token.startswith(prefix) and token not in special for token in self.vocabulary.tokens])

    @cached_property
    def ordinary(self) -> NDArray[np.bool_]:
        """For each id, whether it may be asked, and put in the place of another: all but the special tokens."""
        return np.array([token not in self.vocabulary.special for token in self.vocabulary.tokens])

    def masked(self, row: int, rng: np.random.Generator, share: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """One block as the network sees it, and the labels: whole words are asked, each with probability `share`.

        Of the asked wordpieces 80 % are hidden, 10 % replaced by a random one, 10 % left (Devlin et al. 2019, 3.1).
        """
        ids = self.ids[row].astype(np.int64)
        word = np.cumsum(~self.continues[ids]) - 1
        asked = (rng.random(word[-1] + 1) < share)[word] & self.ordinary[ids]
        labels = np.where(asked, ids, NOT_ASKED)
        fate = rng.random(len(ids))
        other = rng.choice(np.flatnonzero(self.ordinary), len(ids))
        ids[asked & (fate < MASKED)] = self.vocabulary.ids["[MASK]"]
        moved = asked & (fate >= MASKED) & (fate < MASKED + SHUFFLED)
        ids[moved] = other[moved]
        return ids, labels


class MaskedReading:
    """So many masked blocks, as a torch dataset: pass after pass in a new order, each masked anew, all by `seed` and place alone.

    Whoever stops and goes on at a place meets the same blocks under the same masks.
    """

    def __init__(self, blocks: Blocks, length: int, share: float, seed: int) -> None:
        self.blocks, self.length, self.share, self.seed = blocks, length, share, seed
        self._order: tuple[int, NDArray[np.int64]] = (-1, np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, place: int) -> dict[str, "torch.Tensor"]:
        import torch

        around, at = divmod(place, len(self.blocks))
        if self._order[0] != around:
            self._order = (around, np.random.default_rng([self.seed, around]).permutation(len(self.blocks)))
        rng = np.random.default_rng([self.seed, around, at])
        ids, labels = self.blocks.masked(int(self._order[1][at]), rng, self.share)
        return {"input_ids": torch.from_numpy(ids), "labels": torch.from_numpy(labels)}


def pack(sentences: Path, vocabulary: Vocabulary, length: int) -> Blocks:
    """A file of words between blanks → blocks of `length` wordpieces.

    Raises InputError where the text does not fill one block.
    """
    body = length - 2
    ids_of = vocabulary.ids.__getitem__
    stream = np.fromiter((i for pieces in cut_lines(sentences, vocabulary) for i in map(ids_of, pieces)), dtype=np.int32)
    rows = len(stream) // body
    if not rows:
        raise InputError(f"Too little text: {len(stream):,} wordpieces do not fill one block of {length}.", "Give more text.")
    ids = np.empty((rows, length), dtype=np.int32)
    ids[:, 0], ids[:, -1] = vocabulary.ids["[CLS]"], vocabulary.ids["[SEP]"]
    ids[:, 1:-1] = stream[: rows * body].reshape(rows, body)
    return Blocks(ids, vocabulary)


def cut_lines(sentences: Path, vocabulary: Vocabulary) -> Iterator[list[str]]:
    """The lines of a words file cut into wordpieces; each distinct word is cut once."""
    known: dict[str, tuple[str, ...]] = {}
    with sentences.open(encoding="utf-8") as file:
        for line in file:
            pieces: list[str] = []
            for word in line.split():
                if word not in known:
                    known[word] = vocabulary.cut(word)
                pieces += known[word]
            yield pieces

