"""Counting of pre-tokens and words: line by line for any splitter, by distinct parts of lines if
lines can be divided (`line_division`), by distinct chunks for BERT's, whose pre-tokens are words.

Counting by chunks is exact, because BERT's normalizer and pre-tokenizer never look across
whitespace, delete control characters and always split at ASCII punctuation:

1. Delete control characters, put spaces around ASCII punctuation, lowercase ASCII letters if the
   splitter does: "Don't" -> "don ' t".
2. Count the chunks between whitespace. An ASCII chunk is a single word.
3. Split each distinct other chunk once, and count its words as often as the chunk.

`tests/text/test_words.py` compares this with the tokenizer's own result for every code point.
"""

import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

import numpy as np

from vocadapt.text.formats.text_file import split_lines
from vocadapt.text.line_division import CONTEXT, find_boundary, may_be_divided_after
from vocadapt.text.splitter import Splitter

MAX_CHUNKS = 500_000  # distinct chunks, or parts of lines, in memory before they are split
GROUP = 256  # parts of lines that are split together
PUNCTUATION = [mark.encode() for mark in string.punctuation]
CONTROL = bytes(code for code in [*range(32), 127] if code not in b"\t\n\r")
NEXT_LINE = "\x85".encode()  # a control character too; str.split() would split here
LOWER = bytes(range(256)).lower()


class LineCounter:
    """Counts the pre-tokens or words of a text, line by line; correct for any splitter."""

    def __init__(self, splitter: Splitter) -> None:
        self.splitter = splitter
        self.words: Counter[str] = Counter()

    def count(self, text: str) -> None:
        """Count the pre-tokens of some lines."""
        for _ in self.pretoken_lines(text):
            pass

    def sentences(self, text: str) -> Iterator[str]:
        """Count the words of some lines, and yield the words of each line, joined by spaces."""
        return self._count_lines(text, self.splitter.words)

    def pretoken_lines(self, text: str) -> Iterator[str]:
        """Count the pre-tokens of some lines, and yield those of each line, joined by spaces."""
        return self._count_lines(text, self.splitter.pretokens)

    def _count_lines(self, text: str, split: Callable[[str], list[str]]) -> Iterator[str]:
        for line in split_lines(text):
            parts = split(line)
            self.words.update(parts)
            yield " ".join(parts)

    def word_counts(self) -> Counter[str]:
        """Return the counts so far."""
        return self.words


class PartCounter(LineCounter):
    """Counts distinct parts of lines before splitting them, if lines can be divided."""

    def __init__(self, splitter: Splitter, boundary: re.Pattern[str]) -> None:
        super().__init__(splitter)
        self.pretoken_parts = LineParts(splitter.pretokens, boundary)
        self.word_parts = LineParts(splitter.words, boundary)

    def count(self, text: str) -> None:
        """Count the pre-tokens of some lines."""
        for line in split_lines(text):
            self.pretoken_parts.count(line)
        if self.pretoken_parts.is_full():
            self.word_counts()  # bounds the memory: it clears the parts

    def sentences(self, text: str) -> Iterator[str]:
        """Count the words of some lines, and yield the words of each line, joined by spaces."""
        return self._join_lines(text, self.word_parts)

    def pretoken_lines(self, text: str) -> Iterator[str]:
        """Count the pre-tokens of some lines, and yield those of each line, joined by spaces."""
        return self._join_lines(text, self.pretoken_parts)

    def _join_lines(self, text: str, parts: "LineParts") -> Iterator[str]:
        for line in split_lines(text):
            parts.count(line)
            yield parts.join(line)
        if parts.is_full():
            self.word_counts()  # clears the parts

    def word_counts(self) -> Counter[str]:
        """Split and clear the distinct parts so far, and return the counts."""
        self.pretoken_parts.add_to(self.words)
        self.word_parts.add_to(self.words)
        return self.words


class LineParts:
    """Distinct parts of lines with their counts.

    split: splits a line into pre-tokens or words. boundary: pattern at which a line is divided
    (`find_boundary`).
    """

    def __init__(self, split: Callable[[str], list[str]], boundary: re.Pattern[str]) -> None:
        self.split = split
        self.boundary = boundary
        self.firsts: Counter[str] = Counter()  # at the start of a line
        self.others: Counter[str] = Counter()  # after a boundary
        self.joined: dict[str, str] = {}
        self.n_context = len(split(CONTEXT.strip()))

    def count(self, line: str) -> None:
        """Count the parts of a line."""
        first, *others = self.boundary.split(line)
        if first or not others:
            self.firsts[first] += 1
        self.others.update(others)

    def is_full(self) -> bool:
        """Return whether there are more than MAX_CHUNKS distinct parts."""
        return len(self.others) + len(self.firsts) > MAX_CHUNKS

    def add_to(self, counts: Counter[str]) -> None:
        """Split the distinct parts, add the counts of their pre-tokens or words, clear them."""
        for part, count in self.firsts.items():
            for one in self.split(part):
                counts[one] += count
        # Parts that occur equally often are split together.
        by_count: defaultdict[int, list[str]] = defaultdict(list)
        for part, count in self.others.items():
            by_count[count].append(part)
        for count, parts in by_count.items():
            for group in self._group(parts):
                for one in self._split_after_context(" ".join(group)):
                    counts[one] += count
        self.firsts.clear()
        self.others.clear()
        self.joined.clear()

    def _split_after_context(self, part: str) -> list[str]:
        return self.split(CONTEXT + part)[self.n_context :]

    def _group(self, parts: list[str]) -> Iterator[list[str]]:
        """Yield groups of parts that can be joined by spaces and split together."""
        inner = [part for part in parts if may_be_divided_after(self.boundary, part)]
        for start in range(0, len(inner), GROUP):
            yield inner[start : start + GROUP]
        if len(inner) < len(parts):
            yield from ([part] for part in set(parts).difference(inner))

    def join(self, line: str) -> str:
        """Return the pre-tokens or words of a line, joined by spaces."""
        first, *others = self.boundary.split(line)
        found: list[str] = []
        if first or not others:
            found += self.split(first)
        for part in others:
            if part not in self.joined:
                self.joined[part] = " ".join(self._split_after_context(part))
            if self.joined[part]:
                found.append(self.joined[part])
        return " ".join(found)


class ChunkCounter(LineCounter):
    """Counts distinct chunks before splitting them, for splitters that stop at whitespace."""

    def __init__(self, splitter: Splitter) -> None:
        super().__init__(splitter)
        self.chunks: Counter[str] = Counter()
        self.joined: dict[str, str] = {}

    def count(self, text: str) -> None:
        """Count the words of some lines."""
        self._count_chunks(text)

    def pretoken_lines(self, text: str) -> Iterator[str]:
        """Count the words (pre-tokens) of some lines, and yield those of each line, joined."""
        return self.sentences(text)

    def sentences(self, text: str) -> Iterator[str]:
        """Count the words of some lines, and yield the words of each line, joined by spaces."""
        for line in split_lines(self._count_chunks(text).decode()):
            chunks = line.split()
            if not line.isascii():
                chunks = [words for words in map(self._split_chunk, chunks) if words]
            yield " ".join(chunks)

    def word_counts(self) -> Counter[str]:
        """Split and clear the distinct chunks so far, and return the word counts."""
        for chunk, count in self.chunks.items():
            if chunk.isascii():
                self.words[chunk] += count
                continue
            for word in self.splitter.words(chunk):
                self.words[word] += count
        del self.words[""]  # the end of a block is an empty chunk
        self.chunks.clear()
        return self.words

    def _split_chunk(self, chunk: str) -> str:
        if chunk.isascii():
            return chunk
        if chunk not in self.joined:
            self.joined[chunk] = " ".join(self.splitter.words(chunk))
        return self.joined[chunk]

    def _count_chunks(self, text: str) -> bytes:
        """Isolate the punctuation of some lines and count the chunks between ASCII whitespace;
        return the lines.

        Arrow splits and counts a block in a third of the time of str.split and Counter; only the
        distinct chunks are converted to str.
        """
        import pyarrow
        from pyarrow import compute

        # 1. The block is one string of an Arrow array, which shares its memory.
        spaced = isolate_punctuation(text, self.splitter.lowercase)
        ends = pyarrow.py_buffer(np.array([0, len(spaced)], dtype=np.int64))
        block = pyarrow.LargeStringArray.from_buffers(1, ends, pyarrow.py_buffer(spaced))
        occurrences = compute.ascii_split_whitespace(block).flatten()
        chunks, counts = compute.value_counts(occurrences).flatten()
        for chunk, count in zip(chunks.to_pylist(), counts.to_pylist(), strict=True):
            self.chunks[chunk] += count

        # 2. Bound the memory of both tables.
        if len(self.chunks) > MAX_CHUNKS:
            self.word_counts()  # clears the chunks
        if len(self.joined) > MAX_CHUNKS:
            self.joined.clear()
        return spaced


def build_word_counter(splitter: Splitter) -> LineCounter:
    """Return the fastest exact counter for a splitter."""
    if splitter.never_crosses_whitespace:
        return ChunkCounter(splitter)
    boundary = find_boundary(splitter)
    if boundary is not None:
        return PartCounter(splitter, boundary)
    return LineCounter(splitter)


def isolate_punctuation(text: str, lowercase: bool) -> bytes:
    """Return the text as UTF-8 without control characters, with spaces around ASCII punctuation.

    The words stay the same. Example: "Don't" -> b"don ' t" if lowercase.
    """
    table = None
    if lowercase:
        table = LOWER
    raw = text.encode().translate(table, CONTROL).replace(NEXT_LINE, b"")
    for mark in PUNCTUATION:
        raw = raw.replace(mark, b" %b " % mark)
    return raw
