"""Text as blocks of wordpieces for masked-word training: packed once, masked anew at every
reading.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.training.labels import IGNORE_INDEX
from vocadapt.vocabulary.families.wordpiece import Vocabulary

if TYPE_CHECKING:
    import torch

Ids = NDArray[np.int32]
STEP = 4096  # blocks that are packed, or counted, at a time
MASKED, SHUFFLED = (
    0.8,
    0.1,
)  # shares of the asked wordpieces that are hidden, and replaced by another; the rest stays (BERT)


@dataclass(frozen=True, eq=False)
class Blocks:
    """A text as rows of wordpiece ids (blocks, length), between [CLS] and [SEP]; what does not fill
    the last is left out.
    """

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
        counts = np.zeros(len(self.vocabulary), dtype=np.int64)
        for first in range(0, len(self), STEP):  # a little at a time: the ids may lie on disk
            counts += np.bincount(
                self.ids[first : first + STEP].ravel(), minlength=len(self.vocabulary)
            )
        return counts

    @cached_property
    def continues(self) -> NDArray[np.bool_]:
        """For each id, whether it goes on with the word before it."""
        return np.array(list(map(self.vocabulary.continues, self.vocabulary.tokens)))

    @cached_property
    def ordinary(self) -> NDArray[np.bool_]:
        """For each id, whether it may be asked, and put in the place of another: all but the
        special tokens.
        """
        return np.array([token not in self.vocabulary.special for token in self.vocabulary.tokens])

    def beside(self, row: int) -> "dict[str, torch.Tensor]":
        """What else the network has to know of a block: nothing."""
        return {}

    def masked(
        self, row: int, rng: np.random.Generator, share: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """One block as the network sees it, and the labels: whole words are asked, each with
        probability `share`.

        Of the asked wordpieces 80 % are hidden, 10 % replaced by a random one, 10 % left (Devlin et
        al. 2019, 3.1).
        """
        ids = self.ids[row].astype(np.int64)
        word = np.cumsum(~self.continues[ids]) - 1
        asked = (rng.random(word[-1] + 1) < share)[word] & self.ordinary[ids]
        labels = np.where(asked, ids, IGNORE_INDEX)
        fate = rng.random(len(ids))
        other = rng.choice(np.flatnonzero(self.ordinary), len(ids))
        ids[asked & (fate < MASKED)] = self.vocabulary.ids["[MASK]"]
        moved = asked & (fate >= MASKED) & (fate < MASKED + SHUFFLED)
        ids[moved] = other[moved]
        return ids, labels


class MaskedBlockDataset:
    """So many masked blocks, as a torch dataset: pass after pass in a new order, each masked anew,
    all by `seed` and place alone.

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
            self._order = (
                around,
                np.random.default_rng([self.seed, around]).permutation(len(self.blocks)),
            )
        rng = np.random.default_rng([self.seed, around, at])
        row = int(self._order[1][at])
        ids, labels = self.blocks.masked(row, rng, self.share)
        return {
            "input_ids": torch.from_numpy(ids),
            "labels": torch.from_numpy(labels),
            **self.blocks.beside(row),
        }


def pack(sentences: Path, vocabulary: Vocabulary, length: int) -> Blocks:
    """A file of words between blanks → blocks of `length` wordpieces, in a file beside it: however
    long a text, memory is not.

    Raises InputError where the text does not fill one block.
    """
    body, rows = length - 2, 0
    ids_of = vocabulary.ids.__getitem__
    stream = (i for pieces in tokenize_lines(sentences, vocabulary) for i in map(ids_of, pieces))
    file = sentences.with_suffix(".ids")
    file.unlink(missing_ok=True)  # whoever still reads an older one keeps it
    with file.open("wb") as out:
        while len(read := np.fromiter(islice(stream, STEP * body), dtype=np.int32)) >= body:
            ids = np.empty((len(read) // body, length), dtype=np.int32)
            ids[:, 0], ids[:, -1] = vocabulary.ids["[CLS]"], vocabulary.ids["[SEP]"]
            ids[:, 1:-1] = read[: len(ids) * body].reshape(-1, body)
            ids.tofile(out)
            rows += len(ids)
    if not rows:
        raise InputError(
            f"Too little text: {len(read):,} wordpieces do not fill one block of {length}.",
            "Give more text.",
        )
    return Blocks(np.memmap(file, dtype=np.int32, mode="r", shape=(rows, length)), vocabulary)


def tokenize_lines(sentences: Path, vocabulary: Vocabulary) -> Iterator[list[str]]:
    """The lines of a words file cut into wordpieces; each distinct word is cut once."""
    known: dict[str, tuple[str, ...]] = {}
    with sentences.open(encoding="utf-8") as file:
        for line in file:
            pieces: list[str] = []
            for word in line.split():
                if word not in known:
                    known[word] = vocabulary.tokenize(word)
                pieces += known[word]
            yield pieces
