"""Word counts of a corpus, and the words file that gensim reads.

Words are counted in two tables. Tokens are chosen by `in_sample`, the counts of nine of ten lines;
what they cost is measured on `held_out`, the counts of every tenth line. The hash of a line
decides, so copies of a line are in one table, in every process and every division of the text.
"""

import errno
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from io import TextIOWrapper
from itertools import compress, islice
from pathlib import Path
from typing import IO

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, report_block, silent
from vocadapt.system.files import open_file
from vocadapt.system.json_values import build_value, json_name, list_changed_values
from vocadapt.text.corpus import Corpus, Passage
from vocadapt.text.counting import build_word_counter
from vocadapt.text.display import shorten_text
from vocadapt.text.formats.readers import NO_NOTES, ReaderNotes
from vocadapt.text.formats.text_file import split_lines
from vocadapt.text.identical_lines import (
    HELD_OUT_EVERY,
    LineTally,
    find_held_out,
    hash_lines,
)
from vocadapt.text.splitter import Splitter
from vocadapt.text.summary import SHOWN, Summarized, Summary, Table

__all__ = ["Splitter", "WordCounts", "count_words", "write_sentences"]

BLANK = re.compile(r"[ \t-\r]")  # would split a word in a words file
MAX_SENTENCE = 10_000  # words; gensim silently drops the rest of a line (MAX_WORDS_IN_BATCH)
MAX_SHOWN_LINE = 200  # characters of the most frequent line that are kept


@dataclass(frozen=True)
class FrequentLine:
    """The first characters of a line, and how often it occurs."""

    text: str
    count: int


@dataclass(frozen=True)
class IdenticalLines:
    """Lines of a text that occur more than once; blank lines do not count.

    copies: number of lines beyond the first of each. most_frequent: the line that occurs most
    often, None if no line occurs twice. compared: fraction of the distinct lines that were
    compared: below 1 for more than four million, and then `copies` is an estimate.
    """

    copies: int = field(default=0, metadata=json_name("identical_lines"))
    most_frequent: FrequentLine | None = field(
        default=None, metadata=json_name("most_frequent_line")
    )
    compared: float = field(default=1.0, metadata=json_name("identical_lines_compared"))


@dataclass(frozen=True, eq=False, repr=False)
class WordCounts(Summarized):
    """Number of occurrences of each pre-token (or word, see `write_sentences`) in a corpus, most
    frequent first, ties by spelling. In WordPiece models, pre-tokens are words.

    lines: number of lines kept of the `lines_read`. bytes: their size in UTF-8. notes: what the
    readers counted.
    held_out: the part of `counts` that is in the `held_out_lines`; {} and 0 if no words are held
    out. identical: lines that occur more than once. tally: how often each line occurs, only while
    the counts of parts are added.
    """

    counts: Mapping[str, int]
    lines: int
    bytes: int
    lines_read: int = 0
    notes: ReaderNotes = NO_NOTES
    held_out: Mapping[str, int] = field(default_factory=dict)
    held_out_lines: int = 0
    identical: IdenticalLines = IdenticalLines()
    tally: LineTally | None = None

    @cached_property
    def in_sample(self) -> Mapping[str, int]:
        """The counts of the lines that are not held out; tokens are chosen by them."""
        return subtract_counts(self.counts, self.held_out)

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
        """Write a tab-separated file: totals; then word, count and count in held-out lines."""
        totals = {
            "lines": self.lines,
            "bytes": self.bytes,
            "lines_read": self.lines_read,
            "distinct": self.distinct,
            "held_out_lines": self.held_out_lines,
            "identical_lines": self.identical.copies,
            **list_changed_values(self.identical),
            **list_changed_values(self.notes),
        }
        with _open_new_file(path) as file:
            cells = (f"{name}\t{json.dumps(total)}" for name, total in totals.items())
            file.write("\t".join(cells) + "\n")
            for word, count in self.counts.items():
                held_out = self.held_out.get(word, 0)
                file.write(f"{word}\t{count}\t{held_out}\n" if held_out else f"{word}\t{count}\n")

    @classmethod
    def read(cls, path: Path) -> "WordCounts":
        """Read what `write` wrote; raises InputError for anything else.

        Files of earlier versions have no held-out lines.
        """
        counts: dict[str, int] = {}
        held_out: dict[str, int] = {}
        try:
            with TextIOWrapper(open_file(path), encoding="utf-8", newline="\n") as file:
                cells = next(file, "")[:-1].split("\t")
                totals = dict(zip(cells[::2], map(json.loads, cells[1::2]), strict=True))
                for line in file:
                    word, count, *held = line[:-1].split("\t")
                    counts[word] = int(count)
                    if held:
                        (number,) = held
                        held_out[word] = int(number)
            if len(counts) != totals["distinct"]:
                raise ValueError(f"{len(counts):,} of {totals['distinct']:,} words")
            return cls(
                counts,
                totals["lines"],
                totals["bytes"],
                totals["lines_read"],
                build_value(ReaderNotes, totals),
                held_out,
                totals.get("held_out_lines", 0),
                build_value(IdenticalLines, totals),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{path}: not a word count of vocadapt ({error}).",
                "Count the words again.",
                code="invalid-word-count",
            ) from None


NO_COUNTS = WordCounts({}, 0, 0)


class TextCounter:
    """Counts the words of a text in two tables, and its identical lines."""

    def __init__(self, splitter: Splitter) -> None:
        self.in_sample = build_word_counter(splitter)
        self.held_out = build_word_counter(splitter)
        self.held_out_lines = 0
        self.line_tally = LineTally()

    def count(self, text: str) -> None:
        """Count the pre-tokens of some lines, and the lines themselves."""
        lines = split_lines(text)
        hashes = hash_lines(lines)
        is_held_out = find_held_out(hashes)
        self.line_tally.count(hashes)
        self.held_out_lines += int(is_held_out.sum())
        for counter, chosen in ((self.in_sample, ~is_held_out), (self.held_out, is_held_out)):
            counter.count("".join(f"{line}\n" for line in compress(lines, chosen)))

    def finish(self) -> WordCounts:
        """Return the counts so far, in any order, without the size of the text."""
        counts = self.in_sample.word_counts()
        held_out = self.held_out.word_counts()
        return WordCounts(
            counts + held_out,
            0,
            0,
            held_out=held_out,
            held_out_lines=self.held_out_lines,
            tally=self.line_tally,
        )


def count_words(corpus: Corpus, splitter: Splitter, progress: Progress = silent) -> WordCounts:
    """Count the pre-tokens of a corpus, split by `splitter`.

    Memory is bounded by the distinct words, 500 000 distinct chunks of each of the two tables, and
    four million distinct lines (`identical_lines`). Raises InputError for a corpus without words.
    """
    return finish_counts(tally_words(corpus, splitter, progress), corpus)


def write_sentences(
    corpus: Corpus,
    splitter: Splitter,
    path: Path,
    progress: Progress = silent,
    pretokens: bool = False,
) -> WordCounts:
    """Write one line of words, joined by spaces, per line of the corpus (gensim's LineSentence),
    and count them, in one pass; no line is held out.

    pretokens: write and count pre-tokens, which a vocabulary tokenizes, instead of words.

    A line of more than 10 000 words becomes several; an empty one is left out. If writing fails,
    no file is left at `path`. Raises InputError for a corpus without words, a `path` that is one of
    its files, and a full disk.
    """
    if path.resolve() in {file.resolve() for file in corpus.files}:
        raise InputError(
            f"{path}: this file is part of the text itself.",
            "Write the words to another file.",
            code="overwrites-text",
        )
    counter = build_word_counter(splitter)
    split = counter.pretoken_lines if pretokens else counter.sentences
    with _open_new_file(path) as file:
        size = _read_passages(
            corpus, lambda text: file.writelines(map(_break_sentence, split(text))), progress
        )
        return sort_counts(replace(size, counts=counter.word_counts()))


def tally_words(corpus: Corpus, splitter: Splitter, progress: Progress = silent) -> WordCounts:
    """Count the pre-tokens of a corpus, in any order; there may be none."""
    counter = TextCounter(splitter)
    size = _read_passages(corpus, counter.count, progress)
    return add_tallies([size, counter.finish()])


def add_tallies(parts: Sequence[WordCounts]) -> WordCounts:
    """Add the counts and the sizes of parts, in any order."""
    words = Counter[str]()
    held_out = Counter[str]()
    for part in parts:
        words.update(part.counts)
        held_out.update(part.held_out)
    tallies = [part.tally for part in parts if part.tally is not None]
    return replace(
        add_sizes(parts),
        counts=words,
        held_out=held_out,
        held_out_lines=sum(part.held_out_lines for part in parts),
        tally=reduce(LineTally.add, tallies) if tallies else None,
    )


def add_sizes(parts: Sequence[WordCounts]) -> WordCounts:
    """Add the sizes of parts, without their words."""
    return WordCounts(
        {},
        sum(part.lines for part in parts),
        sum(part.bytes for part in parts),
        sum(part.lines_read for part in parts),
        sum((part.notes for part in parts), NO_NOTES),
    )


def count_passages(
    passages: Iterable[Passage], count: Callable[[str], None]
) -> Iterator[tuple[WordCounts, float]]:
    """Give each block of lines to `count`; yield its size, without its words, and the fraction of
    the corpus read so far.
    """
    for passage in passages:
        with report_block(passage.where):
            count(passage.text)
        lines = passage.text.count("\n")
        n_bytes = len(passage.text.encode())
        yield WordCounts({}, lines, n_bytes, passage.read, passage.notes), passage.fraction


def _read_passages(corpus: Corpus, count: Callable[[str], None], progress: Progress) -> WordCounts:
    """Give each block of lines to `count`; return the size of the text, without its words."""
    total = NO_COUNTS
    for size, fraction in count_passages(corpus.passages(), count):
        total = add_sizes((total, size))
        progress(fraction, describe_size(total))
    return total


def describe_size(size: WordCounts) -> str:
    """Return how much was read: 900 lines kept of 1,000 from 20 articles, …"""
    message = f"{size.lines:,} lines"
    if size.lines < size.lines_read:
        message += f" kept of {size.lines_read:,}"
    return f"{message}{size.notes}"


def finish_counts(found: WordCounts, corpus: Corpus) -> WordCounts:
    """Return the counts of a whole corpus, sorted, with its identical lines.

    No words are held out if only one of the two tables has words. Raises what `sort_counts` raises.
    """
    found = sort_counts(found)
    if not found.held_out or not found.in_sample:
        found = replace(found, held_out={}, held_out_lines=0)
    if found.tally is None:
        return found
    return replace(found, identical=_describe_identical_lines(found.tally, corpus), tally=None)


def _describe_identical_lines(tally: LineTally, corpus: Corpus) -> IdenticalLines:
    """Count the identical lines; the text is read again up to the most frequent line."""
    most = tally.find_most_frequent()
    if most is None:
        return IdenticalLines(tally.count_identical(), compared=tally.compared_fraction)
    wanted, times = most
    for passage in corpus.passages():
        lines = split_lines(passage.text)
        places = np.flatnonzero(hash_lines(lines) == np.uint64(wanted))
        if len(places):
            line = shorten_text(lines[places[0]].strip(), MAX_SHOWN_LINE)
            frequent = FrequentLine(line, times)
            return IdenticalLines(tally.count_identical(), frequent, tally.compared_fraction)
    raise InputError("The text changed while it was read.", "Count its words again.")


def sort_counts(found: WordCounts) -> WordCounts:
    """Return word counts with the most frequent word first, ties by word.

    Raises InputError if there are no words, or words with blanks inside.
    """
    words = found.counts
    if not words:
        raise InputError(
            f"The text contains no words ({describe_size(found)}).",
            "Check the text and the options.",
            code="no-words",
        )
    if spaced := next(filter(BLANK.search, words), None):
        raise InputError(
            f"This model's pre-tokenizer leaves blanks inside words ({spaced!r}).",
            "Such models cannot be used yet.",
            code="blanks-in-words",
        )
    return replace(found, counts=order_by_count(words))


def order_by_count(words: Mapping[str, int]) -> dict[str, int]:
    """Return counts with the most frequent word first, ties by word."""
    # Most words are rare: sorting those of each count is twice as fast as sorting all words.
    by_count: defaultdict[int, list[str]] = defaultdict(list)
    for word, count in words.items():
        by_count[count].append(word)
    return {
        word: count for count in sorted(by_count, reverse=True) for word in sorted(by_count[count])
    }


def subtract_counts(counts: Mapping[str, int], part: Mapping[str, int]) -> Mapping[str, int]:
    """Return counts without those of a part, the most frequent word first."""
    if not part:
        return counts
    left = {word: count - part.get(word, 0) for word, count in counts.items()}
    return order_by_count({word: count for word, count in left.items() if count > 0})


def describe_held_out(held_out_lines: int, lines: int) -> str:
    """Describe on which lines a cost was measured, in a sentence."""
    if not held_out_lines:
        return (
            "No line is held out, because the text is too small or only its counts are known: the"
            " cost is measured in sample."
        )
    verb = "is" if held_out_lines == 1 else "are"
    return (
        f"{held_out_lines:,} of {lines:,} lines {verb} held out, about one of {HELD_OUT_EVERY}"
        " lines with text: no token is chosen by them, and the cost is measured on them."
    )


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
            code="unwritable-file",
        ) from None
    try:
        with file:
            yield file
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(
                f"{path}: the disk is full.",
                "Free disk space, or write to another disk.",
                code="full-disk",
            ) from None
        raise
