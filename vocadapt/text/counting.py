"""Word counting: line by line for any splitter, by distinct chunks for BERT's own.

Counting by chunks is exact, because BERT's normalizer and pre-tokenizer never look across white
space, delete control characters and always split at ASCII punctuation:

1. Delete control characters, put spaces around ASCII punctuation, lowercase ASCII letters if the
   splitter does: "Don't" -> "don ' t".
2. Count the chunks between blanks. An ASCII chunk is a word already.
3. Split each distinct other chunk once, and count its words as often as the chunk.

`tests/text/test_words.py` compares this with the tokenizer's own result for every code point.
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
        """Count the words of some lines, and yield each line's words joined by blanks."""
        for line in split_lines(text):
            words = self.splitter.words(line)
            self.words.update(words)
            yield " ".join(words)

    def fold(self) -> Counter[str]:
        """Return the word counts so far."""
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
        """Count the words of some lines, and yield each line's words joined by blanks."""
        spaced = isolate_punctuation(text, self.splitter.lowercase)
        self._count_pieces(spaced)
        for line in split_lines(spaced.decode()):
            pieces = line.split()
            if not line.isascii():
                pieces = [words for words in map(self._split_piece, pieces) if words]
            yield " ".join(pieces)

    def fold(self) -> Counter[str]:
        """Split the distinct chunks so far, and return the word counts."""
        for piece, count in self.pieces.items():
            for word in self.splitter.words(piece):
                self.words[word] += count
        self.pieces.clear()
        return self.words

    def _split_piece(self, piece: str) -> str:
        """Return the words of a piece, joined by blanks; "" if it has none."""
        if piece.isascii():
            return piece
        if piece not in self.joined:
            self.joined[piece] = " ".join(self.splitter.words(piece))
        return self.joined[piece]

    def _count_pieces(self, spaced: bytes) -> None:
        """Count the chunks between ASCII blanks; fold the table if it grows too large.

        Arrow splits and counts a block in a third of the time of str.split and Counter; only its
        distinct pieces become str.
        """
        import pyarrow
        from pyarrow import compute

        # The block is one string of an Arrow array, which shares its memory.
        ends = pyarrow.py_buffer(np.array([0, len(spaced)], dtype=np.int64))
        block = pyarrow.LargeStringArray.from_buffers(1, ends, pyarrow.py_buffer(spaced))
        chunks = compute.ascii_split_whitespace(block).flatten()
        pieces, counts = compute.value_counts(chunks).flatten()
        for piece, count in zip(pieces.to_pylist(), counts.to_pylist(), strict=True):
            self.pieces[piece] += count
        # Both tables stay bounded, whatever the text holds.
        if len(self.pieces) > MAX_PIECES:
            self.fold()
        if len(self.joined) > MAX_PIECES:
            self.joined.clear()


def build_word_counter(splitter: Splitter) -> LineCounter:
    """Return the fastest exact counter for a splitter."""
    if splitter.never_crosses_blanks:
        return ChunkCounter(splitter)
    return LineCounter(splitter)


def isolate_punctuation(text: str, lowercase: bool) -> bytes:
    """Return the text as UTF-8 without control characters, with spaces around ASCII punctuation.

    The words stay the same. Example: "Don't" -> b"don ' t" if lowercase.
    """
    raw = text.encode().translate(LOWER if lowercase else None, CONTROL).replace(NEXT_LINE, b"")
    for mark in PUNCTUATION:
        raw = raw.replace(mark, b" %b " % mark)
    return raw
