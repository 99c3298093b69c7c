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
from vocadapt.training.masked.blocks import Blocks, mark_ids, mark_start, split_marks
from vocadapt.vocabulary.families import Vocabulary

if TYPE_CHECKING:
    import torch

SENTENCE_ENDS = ".?!"  # characters that end a sentence
CLOSING = "\"')]}»”’"  # characters that may follow SENTENCE_ENDS in the same pre-token
NEXT, OTHER = 0, 1  # BERT's labels: B follows A, or is from another document
LINES_PER_REPORT = 10_000  # lines between two progress reports
Ids = list[int]  # marked ids of consecutive tokens (`mark_ids`)


@dataclass(frozen=True, eq=False)
class Pairs(Blocks):
    """Blocks `[CLS] A [SEP] B [SEP]`, padded at the end, with the model's special tokens.

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
        """Return statistics for a report: numbers of pairs and documents, and the fractions of true
        next sentences and of padding.
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
    """Pack a file of pre-tokens into pairs of segments.

    Documents are separated by empty lines; without empty lines, each line is a document. Raises
    InputError if fewer than two documents have two sentences.

    Example: the documents "a . b ." and "c . d ." give the pairs (a ., b .) and (c ., d .). If the
    second one is chosen, it becomes (c ., b .) with the label OTHER.
    """
    # 1. Divide each document into pairs of consecutive segments, with its number.
    numbered: list[tuple[int, tuple[Ids, Ids]]] = []
    for number, sentences in enumerate(_read_documents(documents, vocabulary, progress)):
        numbered += [(number, pair) for pair in _split_into_pairs(sentences, length - 3)]
    n_documents = len({number for number, _ in numbered})
    if n_documents < 2:
        raise InputError(
            f"Next-sentence prediction needs two documents of two sentences, not {n_documents}.",
            "Separate the documents by empty lines, or give each a line.",
            code="few-documents",
        )

    # 2. Replace the B of a random half of the pairs by that of another document's pair.
    rng = np.random.default_rng(seed)
    follows = rng.permutation(len(numbered)) % 2 == NEXT
    pairs = _replace_second_segments(numbered, follows.tolist(), rng)

    # 3. Shorten pairs that are too long, and pad the others.
    cls, sep, pad = (mark_start(vocabulary.role_ids[role]) for role in ("cls", "sep", "pad"))
    marked = np.full((len(numbered), length), pad, dtype=np.int64)
    segments = np.zeros((len(numbered), length), dtype=np.int8)
    for row, (first, second) in enumerate(pairs):
        first, second = _shorten(first, second, length - 3)
        whole = [cls, *first, sep, *second, sep]
        marked[row, : len(whole)] = whole
        segments[row, len(first) + 2 : len(whole)] = 1
    ids, starts = split_marks(marked)
    labels = np.where(follows, NEXT, OTHER)
    return Pairs(ids, vocabulary, segments, labels, n_documents, starts=starts)


def _replace_second_segments(
    numbered: Sequence[tuple[int, tuple[Ids, Ids]]],
    follows: Sequence[bool],
    rng: np.random.Generator,
) -> Iterator[tuple[Ids, Ids]]:
    """Yield each pair, with a random B of another document unless `follows`.

    numbered: (document number, pair), sorted by document.
    """
    documents = np.array([document for document, _ in numbered])
    begins = np.searchsorted(documents, documents)
    sizes = np.searchsorted(documents, documents, side="right") - begins
    for (_, (first, second)), begin, size, is_next in zip(
        numbered, begins, sizes, follows, strict=True
    ):
        if is_next:
            yield first, second
            continue
        # Draw among the pairs outside this document, which are before or after it.
        other = int(rng.integers(len(numbered) - size))
        if other >= begin:
            other += size
        yield first, numbered[other][1][1]


def _shorten(first: Ids, second: Ids, max_length: int) -> tuple[Ids, Ids]:
    """Truncate two segments, the longer one first, to at most `max_length` wordpieces together."""
    for_second = max(max_length - len(first), min(len(second), max_length // 2))
    second = second[:for_second]
    return first[: max_length - len(second)], second


def _split_into_pairs(sentences: list[Ids], max_length: int) -> Iterator[tuple[Ids, Ids]]:
    """Yield pairs of segments, each of consecutive sentences.

    As many sentences as fit in `max_length` wordpieces are divided in the middle. A single sentence
    gives no pair.
    """
    pending: list[Ids] = []
    for sentence in [*sentences, None]:
        is_full = sentence is None or sum(map(len, pending)) + len(sentence) > max_length
        if is_full and len(pending) > 1:
            middle = len(pending) // 2
            yield [*chain(*pending[:middle])], [*chain(*pending[middle:])]
            pending = []
        if sentence is None:
            return
        # A single sentence gives no pair, and becomes the first sentence of the next one.
        if is_full:
            pending = pending[-1:]
        pending = [*pending, sentence]


def _read_documents(
    documents: Path, vocabulary: Vocabulary, progress: Progress
) -> Iterator[list[Ids]]:
    @lru_cache(maxsize=200_000)  # pre-tokens
    def read(pretoken: str) -> tuple[tuple[int, ...], bool]:
        """Return the marked ids of a pre-token, and whether it ends a sentence."""
        text = vocabulary.read(pretoken).rstrip(CLOSING)
        return mark_ids(pretoken, vocabulary), text.endswith(tuple(SENTENCE_ENDS))

    with documents.open(encoding="utf-8") as lines:
        separated = any(not line.strip() for line in lines)
    sentences: list[Ids] = []
    done, size = 0, documents.stat().st_size
    with documents.open("rb") as file:
        for number, raw in enumerate(file, 1):
            line = raw.decode()
            done = done + len(raw)
            if number % LINES_PER_REPORT == 0:
                progress(done / size, f"{number:,} lines divided into sentences")
            # Extended in place, because a document may be a whole file.
            sentences.extend(_split_sentences(line, read))
            ends_document = not (separated and line.strip())
            if sentences and ends_document:
                yield sentences
                sentences = []
    if sentences:
        yield sentences


def _split_sentences(
    line: str, read: Callable[[str], tuple[tuple[int, ...], bool]]
) -> Iterator[Ids]:
    """Yield the sentences of a line as marked ids.

    A sentence ends at a pre-token that ends with one of SENTENCE_ENDS, or at the end of the line.
    """
    sentence: Ids = []
    for pretoken in filter(None, line.rstrip("\n").split(" ")):
        ids, is_end = read(pretoken)
        sentence += ids
        if is_end:
            yield sentence
            sentence = []
    if sentence:
        yield sentence
