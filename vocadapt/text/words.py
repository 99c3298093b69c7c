"""Word counts of a corpus, and the words file that gensim reads."""

import errno
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import IO

from vocadapt.errors import InputError
from vocadapt.files import open_file
from vocadapt.progress import Progress, report_block, silent
from vocadapt.text.corpus import Corpus
from vocadapt.text.counting import build_word_counter
from vocadapt.text.formats.readers import NO_NOTES, ReaderNotes
from vocadapt.text.splitter import Splitter
from vocadapt.text.summary import SHOWN, Summarized, Summary, Table

__all__ = ["Splitter", "WordCounts", "count_words", "write_sentences"]

BLANK = re.compile(r"[ \t-\r]")  # would split a word in a words file
MAX_SENTENCE = 10_000  # words; gensim silently drops the rest of a line (MAX_WORDS_IN_BATCH)


@dataclass(frozen=True, eq=False, repr=False)
class WordCounts(Summarized):
    """Number of occurrences of each pre-token (or word, see `write_sentences`) in a corpus, most
    frequent first, ties by spelling. In WordPiece models, pre-tokens are words.

    lines: number of lines kept of the `lines_read`. bytes: their size in UTF-8. notes: what the
    readers counted.
    """

    counts: Mapping[str, int]
    lines: int
    bytes: int
    lines_read: int = 0
    notes: ReaderNotes = NO_NOTES

    @cached_property
    def words(self) -> int:
        """Number of running words of the text."""
        return sum(self.counts.values())

    def summarize(self) -> Summary:
        """Return the size of the text and its most frequent words."""
        facts = {"words": self.words, "distinct": self.distinct, "lines": self.lines}
        rows = list(islice(self.counts.items(), SHOWN))
        table = Table(("word", "count"), rows, self.distinct, "words", frozenset({"word"}))
        return Summary("", facts, (table,))

    @property
    def distinct(self) -> int:
        """Number of different words."""
        return len(self.counts)

    def write(self, path: Path) -> None:
        """Write a tab-separated file: one line of totals, then word and count."""
        with _open_new_file(path) as file:
            totals = {
                "lines": self.lines,
                "bytes": self.bytes,
                "lines_read": self.lines_read,
                "distinct": self.distinct,
            }
            totals |= self.notes.counts()
            file.write("\t".join(f"{name}\t{total}" for name, total in totals.items()) + "\n")
            file.writelines(f"{word}\t{count}\n" for word, count in self.counts.items())

    @classmethod
    def read(cls, path: Path) -> "WordCounts":
        """Read what `write` wrote; raises InputError for anything else."""
        try:
            with TextIOWrapper(open_file(path), encoding="utf-8", newline="\n") as file:
                first = next(file, "").split("\t")
                totals = dict(zip(first[::2], map(int, first[1::2]), strict=True))
                size, distinct = totals.pop("bytes"), totals.pop("distinct")
                lines, lines_read = totals.pop("lines"), totals.pop("lines_read")
                notes = ReaderNotes(**totals)
                cells = (line[:-1].split("\t") for line in file)
                counts = {word: int(count) for word, count in cells}
            if len(counts) != distinct:
                raise ValueError(f"{len(counts):,} of {distinct:,} words")
            return cls(counts, lines, size, lines_read, notes)
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{path}: not a word count of vocadapt ({error}).", "Count the words again."
            ) from None


def count_words(corpus: Corpus, splitter: Splitter, progress: Progress = silent) -> WordCounts:
    """Count the pre-tokens of a corpus, split by `splitter`.

    Memory is bounded by the distinct words plus 500 000 distinct chunks. Raises InputError for a
    corpus without words.
    """
    return sort_counts(tally_words(corpus, splitter, progress=progress))


def write_sentences(
    corpus: Corpus,
    splitter: Splitter,
    path: Path,
    progress: Progress = silent,
    pretokens: bool = False,
) -> WordCounts:
    """Write one line of words, joined by spaces, per line of the corpus (gensim's LineSentence),
    and count them, in one pass.

    pretokens: write and count pre-tokens, which a vocabulary tokenizes, instead of words.

    A line of more than 10 000 words becomes several; an empty one is left out. If writing fails,
    no file is left at `path`. Raises InputError for a corpus without words, a `path` that is one of
    its files, and a full disk.
    """
    if path.resolve() in {file.resolve() for file in corpus.files}:
        raise InputError(
            f"{path}: this file is part of the text itself.", "Write the words to another file."
        )
    with _open_new_file(path) as file:
        return sort_counts(tally_words(corpus, splitter, file, progress, pretokens))


def tally_words(
    corpus: Corpus,
    splitter: Splitter,
    file: IO[str] | None = None,
    progress: Progress = silent,
    pretokens: bool = False,
) -> WordCounts:
    """Count the pre-tokens of a corpus, in any order; there may be none.

    file: if given, write the words of each line to it and count words; or, with `pretokens`, write
    and count pre-tokens.
    """
    tally = build_word_counter(splitter)
    split_lines = tally.pretoken_lines if pretokens else tally.sentences
    lines = lines_read = size = 0
    notes = NO_NOTES
    for passage in corpus.passages():
        # 1. Split the lines and count their parts.
        with report_block(passage.where):
            if file is None:
                tally.count(passage.text)
            else:
                file.writelines(map(_break_sentence, split_lines(passage.text)))

        # 2. Count the text itself.
        lines += passage.text.count("\n")
        lines_read += passage.read
        size += len(passage.text.encode())
        notes += passage.notes
        progress(passage.fraction, describe_lines(lines, lines_read, notes))
    return WordCounts(tally.word_counts(), lines, size, lines_read, notes)


def describe_lines(lines: int, lines_read: int, notes: ReaderNotes = NO_NOTES) -> str:
    """Return how much was read: 900 lines kept of 1,000 from 20 articles, …"""
    message = f"{lines:,} lines"
    if lines < lines_read:
        message += f" kept of {lines_read:,}"
    return f"{message}{notes}"


def sort_counts(found: WordCounts) -> WordCounts:
    """Return word counts with the most frequent word first, ties by word.

    Raises InputError if there are no words, or words with blanks inside.
    """
    words = found.counts
    if not words:
        message = describe_lines(found.lines, found.lines_read, found.notes)
        raise InputError(
            f"The text contains no words ({message}).", "Check the text and the options."
        )
    if spaced := next(filter(BLANK.search, words), None):
        raise InputError(
            f"This model's pre-tokenizer leaves blanks inside words ({spaced!r}).",
            "Such models cannot be used yet.",
        )
    # Most words are rare: sorting those of each count is twice as fast as sorting all words.
    by_count: defaultdict[int, list[str]] = defaultdict(list)
    for word, count in words.items():
        by_count[count].append(word)
    ordered = {
        word: count for count in sorted(by_count, reverse=True) for word in sorted(by_count[count])
    }
    return replace(found, counts=ordered)


def _break_sentence(sentence: str) -> str:
    """Break a sentence into lines of at most 10 000 words each; "" for an empty one."""
    if not sentence:
        return ""
    if len(sentence) < 2 * MAX_SENTENCE:  # 10 001 words need 20 001 characters
        return f"{sentence}\n"
    words = sentence.split(" ")
    starts = range(0, len(words), MAX_SENTENCE)
    return "".join(f"{' '.join(words[start : start + MAX_SENTENCE])}\n" for start in starts)


@contextmanager
def _open_new_file(path: Path) -> Iterator[IO[str]]:
    """Open a file for writing, and remove it if the block raises.

    Raises InputError for a full disk and a folder that cannot be written.
    """
    try:
        file = path.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}).",
            "Check the folder and its permissions.",
        ) from None
    try:
        with file:
            yield file
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(
                f"{path}: the disk is full.", "Free disk space, or write to another disk."
            ) from None
        raise
