"""Pairs of text for next-sentence prediction (Devlin et al. 2019, 3.1; packed as in the published
code of exBERT).

Sentences of a document that follow each other fill a block, and the block is cut in the middle: A
and B. In half of the pairs B is then taken from another document. Masks are drawn anew at every
reading, as in any other block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.training.masked.blocks import Blocks
from vocadapt.vocabulary.families.wordpiece import Vocabulary

if TYPE_CHECKING:
    import torch

ENDS = frozenset(".?!")  # words that end a sentence
NEXT, OTHER = 0, 1  # BERT's labels: B follows A, or comes from elsewhere
TOLD = 10_000  # lines from one report to the next
Pieces = list[int]


@dataclass(frozen=True, eq=False)
class Pairs(Blocks):
    """Blocks `[CLS] A [SEP] B [SEP]`, padded at the end: `segments` (blocks, length) are 1 in B,
    `next` (blocks,) 0 where B follows A in the text and 1 where it comes from another of the
    `documents`.
    """

    segments: NDArray[np.int8]
    next: NDArray[np.int64]
    documents: int

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each id occurs; padding is none."""
        counts = super().counts
        counts[self.pad] = 0
        return counts

    @property
    def pad(self) -> int:
        """The id of what fills a block up."""
        return self.vocabulary.ids["[PAD]"]

    def beside(self, row: int) -> "dict[str, torch.Tensor]":
        """Which part each wordpiece belongs to, what is no padding, and whether B follows A."""
        import torch

        return {
            "token_type_ids": torch.from_numpy(self.segments[row].astype(np.int64)),
            "attention_mask": torch.from_numpy((self.ids[row] != self.pad).astype(np.int64)),
            "next": torch.tensor(self.next[row]),
        }

    def to_dict(self) -> dict[str, float]:
        """What was packed, in numbers."""
        padding = float((self.ids == self.pad).mean())
        true = float((self.next == NEXT).mean())
        return {
            "pairs": len(self),
            "of_documents": self.documents,
            "true_next": true,
            "padding": padding,
        }


def pack_pairs(
    documents: Path, vocabulary: Vocabulary, length: int, seed: int = 1, progress: Progress = silent
) -> Pairs:
    """A file of words between blanks, documents parted by empty lines → pairs; `seed` draws which B
    comes from elsewhere.

    Where no line is empty every line is a document. Raises InputError where fewer than two
    documents have two sentences.
    """
    read = enumerate(_documents(documents, vocabulary, progress))
    found = [(number, half) for number, own in read for half in _halves(own, length - 3)]
    of = [number for number, _ in found]
    if len(set(of)) < 2:
        raise InputError(
            "Next sentences need two documents of two sentences each, and the text has"
            f" {len(set(of))}.",
            "Part the documents by empty lines; in a text without an empty line, files or one, each"
            " line is a document.",
        )
    rng = np.random.default_rng(seed)
    follows = rng.permutation(len(found)) % 2 == NEXT
    rows = list(_pairs(found, follows.tolist(), rng))
    ids = np.full((len(rows), length), vocabulary.ids["[PAD]"], dtype=np.int32)
    segments = np.zeros((len(rows), length), dtype=np.int8)
    start, end = vocabulary.ids["[CLS]"], vocabulary.ids["[SEP]"]
    for row, (first, second) in enumerate(rows):
        first, second = _shortened(first, second, length - 3)
        whole = [start, *first, end, *second, end]
        ids[row, : len(whole)], segments[row, len(first) + 2 : len(whole)] = whole, 1
    return Pairs(ids, vocabulary, segments, np.where(follows, NEXT, OTHER), len(set(of)))


def _pairs(
    found: Sequence[tuple[int, tuple[Pieces, Pieces]]],
    follows: Sequence[bool],
    rng: np.random.Generator,
) -> Iterator[tuple[Pieces, Pieces]]:
    """For each place its A and B, or its A and a B drawn from all those of other documents; `found`
    has them by document.
    """
    documents = np.array([document for document, _ in found])
    begins = np.searchsorted(documents, documents)
    sizes = np.searchsorted(documents, documents, side="right") - begins
    for (_, (first, second)), begin, size, true in zip(found, begins, sizes, follows, strict=True):
        drawn = 0 if true else int(rng.integers(len(found) - size))
        yield first, second if true else found[drawn + size if drawn >= begin else drawn][1][1]


def _shortened(first: Pieces, second: Pieces, most: int) -> tuple[Pieces, Pieces]:
    """Both at their beginnings, the longer one the shorter, so that they fit."""
    for_second = max(most - len(first), min(len(second), most // 2))
    second = second[:for_second]
    return first[: most - len(second)], second


def _halves(sentences: list[Pieces], most: int) -> Iterator[tuple[Pieces, Pieces]]:
    """Sentences that follow each other, as many as fit, cut in the middle; one that stands alone
    makes no pair.
    """
    waiting: list[Pieces] = []
    for sentence in [*sentences, None]:
        full = sentence is None or sum(map(len, waiting)) + len(sentence) > most
        if full and len(waiting) > 1:
            middle = len(waiting) // 2
            yield [*chain(*waiting[:middle])], [*chain(*waiting[middle:])]
            waiting = []
        if sentence is not None:
            waiting = [*waiting[-1:], sentence] if full else [*waiting, sentence]


def _documents(
    documents: Path, vocabulary: Vocabulary, progress: Progress
) -> Iterator[list[Pieces]]:
    """The documents of a words file as sentences of ids; each distinct word is cut once."""
    known: dict[str, tuple[int, ...]] = {}
    parted = _has_empty_line(documents)
    sentences: list[Pieces] = []
    done, size = 0, documents.stat().st_size
    with documents.open("rb") as file:
        for number, raw in enumerate(file, 1):
            line, sentence, done = raw.decode(), Pieces(), done + len(raw)
            if number % TOLD == 0:
                progress(done / size, f"{number:,} lines cut into sentences")
            for word in line.split():
                if word not in known:
                    known[word] = tuple(
                        vocabulary.ids[piece] for piece in vocabulary.tokenize(word)
                    )
                sentence += known[word]
                if word in ENDS:
                    sentences.append(sentence)  # in place: a document may be a whole file
                    sentence = []
            sentences += [sentence] if sentence else []
            if sentences and not (parted and line.strip()):
                yield sentences
                sentences = []
    if sentences:
        yield sentences


def _has_empty_line(file: Path) -> bool:
    with file.open(encoding="utf-8") as lines:
        return any(not line.strip() for line in lines)
