"""Pairs of text segments for next-sentence prediction (Devlin et al. 2019, section 3.1; packed as
in the published code of exBERT, Tai et al. 2020).

Consecutive sentences of a document fill a block, which is divided in the middle into segments A and
B. In half of the pairs B is replaced by a segment of another document. Masked positions are drawn
again in each pass, as for other blocks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.training.masked.blocks import Blocks
from vocadapt.vocabulary.families import Vocabulary

if TYPE_CHECKING:
    import torch

ENDS = frozenset(".?!")  # words that end a sentence
NEXT, OTHER = 0, 1  # BERT's labels: B follows A, or is from another document
REPORTED = 10_000  # lines between two progress reports
Pieces = list[int]


@dataclass(frozen=True, eq=False)
class Pairs(Blocks):
    """Blocks `[CLS] A [SEP] B [SEP]`, padded at the end.

    segments: (blocks, length) int8, 1 in B and its [SEP]. next: (blocks,) int64, NEXT or OTHER.
    documents: number of documents that the pairs are from.
    """

    segments: NDArray[np.int8]
    next: NDArray[np.int64]
    documents: int

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of occurrences of each id, (vocabulary,) int64; 0 for padding."""
        counts = super().counts
        counts[self.pad] = 0
        return counts

    @property
    def pad(self) -> int:
        """Id of the padding token."""
        return self.vocabulary.role_ids["pad"]

    def get_extra_inputs(self, row: int) -> "dict[str, torch.Tensor]":
        """Return segment ids, attention mask and next-sentence label of a pair."""
        import torch

        return {
            "token_type_ids": torch.from_numpy(self.segments[row].astype(np.int64)),
            "attention_mask": torch.from_numpy((self.ids[row] != self.pad).astype(np.int64)),
            "next": torch.tensor(self.next[row]),
        }

    def to_dict(self) -> dict[str, float]:
        """Return the figures for a report: pairs, documents, and the fractions of true next
        sentences and of padding.
        """
        return {
            "pairs": len(self),
            "of_documents": self.documents,
            "true_next": float((self.next == NEXT).mean()),
            "padding": float((self.ids == self.pad).mean()),
        }


def pack_pairs(
    documents: Path, vocabulary: Vocabulary, length: int, seed: int = 1, progress: Progress = silent
) -> Pairs:
    """Pack a words file, its documents separated by empty lines, into pairs of segments.

    Without empty lines each line is a document. `seed` draws the pairs whose B is replaced, and the
    replacements. Raises InputError if fewer than two documents have two sentences.

    1. Divide each document into pairs of consecutive segments.
    2. Choose a random half of the pairs and replace their B by one from another document.
    3. Shorten pairs that are too long, and write them as [CLS] A [SEP] B [SEP] with padding.

    Example: the documents "a . b ." and "c . d ." give the pairs (a ., b .) and (c ., d .). If the
    second one is chosen, it becomes (c ., b .) with the label OTHER.
    """
    # 1. Pairs with the number of their document.
    numbered: list[tuple[int, tuple[Pieces, Pieces]]] = []
    for number, sentences in enumerate(_read_documents(documents, vocabulary, progress)):
        numbered += [(number, pair) for pair in _split_into_pairs(sentences, length - 3)]
    n_documents = len({number for number, _ in numbered})
    if n_documents < 2:
        raise InputError(
            "Next-sentence prediction needs two documents of two sentences each, and the text has"
            f" {n_documents}.",
            "Separate the documents by empty lines. In a text without empty lines, each line is a"
            " document.",
        )

    # 2. Exactly half of the pairs (rounded) keep their B.
    rng = np.random.default_rng(seed)
    follows = rng.permutation(len(numbered)) % 2 == NEXT
    pairs = _replace_second_segments(numbered, follows.tolist(), rng)

    # 3. Ids and segments.
    ids = np.full((len(numbered), length), vocabulary.role_ids["pad"], dtype=np.int32)
    segments = np.zeros((len(numbered), length), dtype=np.int8)
    cls, sep = vocabulary.role_ids["cls"], vocabulary.role_ids["sep"]
    for row, (first, second) in enumerate(pairs):
        first, second = _shorten(first, second, length - 3)
        whole = [cls, *first, sep, *second, sep]
        ids[row, : len(whole)] = whole
        segments[row, len(first) + 2 : len(whole)] = 1
    return Pairs(ids, vocabulary, segments, np.where(follows, NEXT, OTHER), n_documents)


def _replace_second_segments(
    numbered: Sequence[tuple[int, tuple[Pieces, Pieces]]],
    follows: Sequence[bool],
    rng: np.random.Generator,
) -> Iterator[tuple[Pieces, Pieces]]:
    """Yield each pair, with a random B of another document unless `follows`.

    numbered: (document number, pair), sorted by document.
    """
    documents = np.array([document for document, _ in numbered])
    begins = np.searchsorted(documents, documents)
    sizes = np.searchsorted(documents, documents, side="right") - begins
    for (_, (first, second)), begin, size, true in zip(
        numbered, begins, sizes, follows, strict=True
    ):
        if true:
            yield first, second
            continue
        # Draw among the pairs outside this document, which are before or after it.
        other = int(rng.integers(len(numbered) - size))
        if other >= begin:
            other += size
        yield first, numbered[other][1][1]


def _shorten(first: Pieces, second: Pieces, max_pieces: int) -> tuple[Pieces, Pieces]:
    """Remove wordpieces at the ends, first of the longer segment, so that both together have at
    most `max_pieces`.
    """
    for_second = max(max_pieces - len(first), min(len(second), max_pieces // 2))
    second = second[:for_second]
    return first[: max_pieces - len(second)], second


def _split_into_pairs(sentences: list[Pieces], max_pieces: int) -> Iterator[tuple[Pieces, Pieces]]:
    """Yield pairs of as many consecutive sentences as fit in `max_pieces` wordpieces, divided in the
    middle; a single sentence makes no pair.
    """
    waiting: list[Pieces] = []
    for sentence in [*sentences, None]:
        full = sentence is None or sum(map(len, waiting)) + len(sentence) > max_pieces
        if full and len(waiting) > 1:
            middle = len(waiting) // 2
            yield [*chain(*waiting[:middle])], [*chain(*waiting[middle:])]
            waiting = []
        if sentence is None:
            return
        # A sentence that alone made no pair stays as the first one of the next.
        if full:
            waiting = waiting[-1:]
        waiting = [*waiting, sentence]


def _read_documents(
    documents: Path, vocabulary: Vocabulary, progress: Progress
) -> Iterator[list[Pieces]]:
    """Yield the documents of a words file as lists of sentences of ids; each distinct word is
    tokenized once.
    """

    @lru_cache(maxsize=200_000)  # words
    def tokenize(word: str) -> tuple[int, ...]:
        return tuple(map(vocabulary.ids.__getitem__, vocabulary.tokenize(word)))

    with documents.open(encoding="utf-8") as lines:
        separated = any(not line.strip() for line in lines)
    sentences: list[Pieces] = []
    done, size = 0, documents.stat().st_size
    with documents.open("rb") as file:
        for number, raw in enumerate(file, 1):
            line, done = raw.decode(), done + len(raw)
            if number % REPORTED == 0:
                progress(done / size, f"{number:,} lines divided into sentences")
            # Extend, not a new list: a document may be a whole file.
            sentences.extend(_split_sentences(line, tokenize))
            ends_document = not (separated and line.strip())
            if sentences and ends_document:
                yield sentences
                sentences = []
    if sentences:
        yield sentences


def _split_sentences(line: str, tokenize: Callable[[str], tuple[int, ...]]) -> Iterator[Pieces]:
    """Yield the sentences of a line as ids; a sentence ends at a word of ENDS, or with the line."""
    sentence: Pieces = []
    for word in line.split():
        sentence += tokenize(word)
        if word in ENDS:
            yield sentence
            sentence = []
    if sentence:
        yield sentence
