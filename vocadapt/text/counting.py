"""Counting of words: line by line for any splitter, by distinct chunks for BERT's own.

Why pieces are exact: BERT's normalizer and pre-tokenizer never look across white space, they delete
control characters, and they always cut at ASCII punctuation. So a text may be rid of the first,
spaced round the second, and have its ASCII lowercased where the splitter lowercases; then every
ASCII piece between blanks is a word already, and any other piece is split on its own, once.
`tests/text/test_words.py` holds this against the tokenizer's own result for every code point.
"""

import string
from collections import Counter
from collections.abc import Iterator

import numpy as np

from vocadapt.text.formats.text_file import split_lines
from vocadapt.text.splitter import Splitter

MAX_PIECES = 500_000  # distinct pieces held before they are folded into words: bounds the memory
PUNCTUATION = [mark.encode() for mark in string.punctuation]
CONTROL = bytes(code for code in [*range(32), 127] if code not in b"\t\n\r")
NEXT_LINE = "\x85".encode()  # a control character too; str.split() would cut here
LOWER = bytes(range(256)).lower()


class LineCounter:
    """Counts words line by line; correct for any splitter."""

    def __init__(self, splitter: Splitter) -> None:
        self.splitter = splitter
        self.words: Counter[str] = Counter()

    def count(self, text: str) -> None:
        """Count the words of some lines."""
        for _ in self.sentences(text):
            pass

    def sentences(self, text: str) -> Iterator[str]:
        """Count the words of some lines, and give each line's words joined by blanks."""
        for line in split_lines(text):
            words = self.splitter.words(line)
            self.words.update(words)
            yield " ".join(words)

    def fold(self) -> Counter[str]:
        """The counts of words so far."""
        return self.words


class ChunkCounter(LineCounter):
    """Counts distinct chunks between blanks first, for a splitter that never looks across blanks."""

    def __init__(self, splitter: Splitter) -> None:
        super().__init__(splitter)
        self.pieces: Counter[str] = Counter()
        self.joined: dict[str, str] = {}

    def count(self, text: str) -> None:
        """Count the words of some lines."""
        self._count_pieces(isolate_punctuation(text, self.splitter.lowercase))

    def sentences(self, text: str) -> Iterator[str]:
        """Count the words of some lines, and give each line's words joined by blanks."""
        loosened = isolate_punctuation(text, self.splitter.lowercase)
        self._count_pieces(loosened)
        for line in split_lines(loosened.decode()):
            pieces = line.split()
            if not line.isascii():
                pieces = list(
                    filter(
                        None, [piece if piece.isascii() else self._join(piece) for piece in pieces]
                    )
                )
            yield " ".join(pieces)

    def fold(self) -> Counter[str]:
        """The counts of words so far."""
        for piece, count in self.pieces.items():
            for word in self.splitter.words(piece):
                self.words[word] += count
        self.pieces.clear()
        return self.words

    def _join(self, piece: str) -> str:
        """The words of a piece joined by blanks."""
        if piece not in self.joined:
            self.joined[piece] = " ".join(self.splitter.words(piece))
        return self.joined[piece]

    def _count_pieces(self, loosened: bytes) -> None:
        """Count the chunks between ASCII blanks; fold the table if it grows too large.

        Arrow splits and counts a block in a third of the time of str.split and Counter; only its
        distinct pieces become str.
        """
        import pyarrow
        from pyarrow import compute

        ends = pyarrow.py_buffer(np.array([0, len(loosened)], dtype=np.int64))
        block = pyarrow.LargeStringArray.from_buffers(1, ends, pyarrow.py_buffer(loosened))
        pieces, counts = compute.value_counts(
            compute.ascii_split_whitespace(block).flatten()
        ).flatten()
        for piece, count in zip(pieces.to_pylist(), counts.to_pylist(), strict=True):
            self.pieces[piece] += count
        if len(self.pieces) > MAX_PIECES:
            self.fold()
        if len(self.joined) > MAX_PIECES:
            self.joined.clear()


def build_word_counter(splitter: Splitter) -> LineCounter:
    """Return the fastest exact counter for a splitter."""
    return ChunkCounter(splitter) if splitter.never_crosses_blanks else LineCounter(splitter)


def isolate_punctuation(text: str, lowercase: bool) -> bytes:
    """Return the text as UTF-8 without control characters, with spaces around ASCII punctuation.

    The words stay the same. Example: "Don't" -> b"don ' t" if lowercase.
    """
    raw = text.encode().translate(LOWER if lowercase else None, CONTROL).replace(NEXT_LINE, b"")
    for mark in PUNCTUATION:
        raw = raw.replace(mark, b" %b " % mark)
    return raw
