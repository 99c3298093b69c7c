"""Word counting by several processes: the parts of a corpus are counted apart, and added up.

The sum is exactly the count of a single pass: words never reach over the end of a line, and all
parts begin and end with a line.

    corpus ── divide_corpus ──> parts ── tally_words, one process each ──> add_counts ──> WordCounts

A file that cannot be divided (compressed, a table, Parquet), and lines that depend on others (a
random sample, the main language), are read by this process, which sends blocks of whole lines to the
others: only the words are counted in parallel.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import open_file
from vocadapt.processes import end_with_parent
from vocadapt.progress import Progress, silent
from vocadapt.text.corpus import Corpus, may_divide
from vocadapt.text.counting import build_word_counter
from vocadapt.text.formats.readers import NO_ARTICLES
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import (
    WordCounts,
    count_words,
    describe_lines,
    sort_counts,
    tally_words,
)

SMALLEST = 4 << 20  # bytes of a part: a smaller one is not worth a process
LOOK_EVERY = 0.2  # seconds between reports of progress
NO_COUNTS = WordCounts({}, 0, 0)


def divide_corpus(corpus: Corpus, parts: int, smallest: int = SMALLEST) -> tuple[Corpus, ...]:
    """Divide a corpus into at most `parts` parts of about equal size, in order, at ends of lines.

    Large files of plain text are divided; small and other files stay whole. Returns the corpus
    itself if its lines depend on one another, or if it is smaller than two parts.

    Example, parts = 2: files of 6, 1 and 1 MB -> the first 4 MB; the other 2 MB; the small files.
    """
    depends = corpus.settings.sample < 1 or corpus.settings.language
    size = max(smallest, -(-corpus.bytes // parts))
    if depends or corpus.counted_by is not None or corpus.bytes < 2 * smallest:
        return (corpus,)
    found: list[Corpus] = []
    waiting: list[Path] = []  # consecutive files that make one part
    waiting_bytes = 0
    for path in corpus.files:
        own = path.stat().st_size
        divided = own > size and may_divide(path)
        if waiting and (divided or waiting_bytes + own > size):
            found.append(replace(corpus, files=tuple(waiting)))
            waiting, waiting_bytes = [], 0
        if divided:
            spans = _find_spans(path, -(-own // size))
            found += [replace(corpus, files=(path,), span=span) for span in spans]
        else:
            waiting.append(path)
            waiting_bytes += own
    if waiting:
        found.append(replace(corpus, files=tuple(waiting)))
    return tuple(found)


def add_counts(parts: Sequence[WordCounts]) -> WordCounts:
    """Add the word counts of parts; the result is sorted as that of a single pass.

    Raises InputError if there are no words, or words with blanks inside.
    """
    words: Counter[str] = Counter()
    for part in parts:
        words.update(part.counts)
    return sort_counts(
        WordCounts(
            words,
            sum(part.lines for part in parts),
            sum(part.bytes for part in parts),
            sum(part.lines_read for part in parts),
            sum((part.articles for part in parts), NO_ARTICLES),
        )
    )


def count_words_in_parallel(
    corpus: Corpus, splitter: Splitter, workers: int, progress: Progress = silent
) -> WordCounts:
    """Count the words of a corpus by several processes; the result is that of `count_words`.

    Raises what `count_words` raises.
    """
    if workers == 1 or corpus.bytes < 2 * SMALLEST:
        return count_words(corpus, splitter, progress)
    parts = divide_corpus(corpus, workers)
    try:
        if len(parts) == 1:
            return _count_blocks(corpus, splitter, workers, progress)
        return _count_parts(parts, splitter, workers, progress)
    except _PartError:
        # A single pass meets the same mistake and names its place in the whole text.
        return count_words(corpus, splitter, progress)


class _PartError(Exception):
    """A part could not be counted."""


@dataclass(eq=False)
class _Counter:
    """A process that counts words, and the connection to it."""

    process: BaseProcess
    connection: Connection


def _count_parts(
    parts: Sequence[Corpus], splitter: Splitter, workers: int, progress: Progress
) -> WordCounts:
    """Count each part in a process of its own, as many at once as there are workers."""
    found: list[WordCounts] = []
    with _start_counters(min(workers, len(parts)), splitter) as counters:
        waiting = list(reversed(parts))
        busy = [counter.connection for counter in counters]
        for connection in busy:
            connection.send(waiting.pop())
        while busy:
            ready = wait(busy, LOOK_EVERY)
            for connection in [one for one in busy if one in ready]:
                found.append(_receive(connection))
                if waiting:
                    connection.send(waiting.pop())
                else:
                    busy.remove(connection)
            lines = sum(part.lines for part in found)
            read = sum(part.lines_read for part in found)
            progress(len(found) / len(parts), describe_lines(lines, read))
    return add_counts(found)


def _count_blocks(
    corpus: Corpus, splitter: Splitter, workers: int, progress: Progress
) -> WordCounts:
    """Read a corpus in this process, and have its blocks counted by others, each in its turn."""
    total = NO_COUNTS
    with _start_counters(workers, splitter) as counters:
        for number, passage in enumerate(corpus.passages()):
            with _convert_loss():
                counters[number % workers].connection.send(passage.text)
            total = WordCounts(
                {},
                total.lines + passage.text.count("\n"),
                total.bytes + len(passage.text.encode()),
                total.lines_read + passage.read,
                total.articles + passage.articles,
            )
            progress(
                passage.fraction, describe_lines(total.lines, total.lines_read, total.articles)
            )
        found = [total]
        for counter in counters:
            with _convert_loss():
                counter.connection.send(None)
        for counter in counters:
            found.append(_receive(counter.connection))
    return add_counts(found)


@contextmanager
def _start_counters(number: int, splitter: Splitter) -> Iterator[list[_Counter]]:
    """Start processes that count words; end them after the block."""
    # New interpreters, not copies of this one: a fork of a process with threads may hang.
    context = get_context("spawn")
    counters = []
    for _ in range(number):
        ours, theirs = context.Pipe()
        process = context.Process(target=_run_counter, args=(theirs, splitter), daemon=True)
        process.start()
        theirs.close()
        counters.append(_Counter(process, ours))
    try:
        yield counters
    finally:
        for counter in counters:
            counter.connection.close()
            counter.process.terminate()
            counter.process.join()


def _run_counter(connection: Connection, splitter: Splitter) -> None:
    """Count what arrives on a connection: a part of a corpus, answered with its counts, or blocks of
    lines, whose counts are sent after None.
    """
    end_with_parent()
    tally = build_word_counter(splitter)
    with suppress(EOFError, OSError):  # the other side has ended
        while True:
            given = connection.recv()
            if isinstance(given, str):
                tally.count(given)
            elif given is None:
                connection.send(replace(NO_COUNTS, counts=tally.word_counts()))
            else:
                connection.send(tally_part(given, splitter))


def tally_part(part: Corpus, splitter: Splitter) -> WordCounts | None:
    """Count the words of a part; None if it cannot be read."""
    try:
        return tally_words(part, splitter)
    except InputError:
        return None


def _receive(connection: Connection) -> WordCounts:
    with _convert_loss():
        found: WordCounts | None = connection.recv()
    if found is None:
        raise _PartError
    return found


@contextmanager
def _convert_loss() -> Iterator[None]:
    """Convert the error of a connection whose process has died."""
    try:
        yield
    except (EOFError, OSError):
        raise _PartError from None


def _find_spans(path: Path, number: int) -> list[tuple[int, int]]:
    """Return spans of about equal size that cover a file, each of whole lines."""
    size = path.stat().st_size
    starts = [0]
    with open_file(path) as file:
        for index in range(1, number):
            file.seek(size * index // number - 1)
            file.readline()  # the rest of the line that holds this byte
            start = file.tell()
            if starts[-1] < start < size:
                starts.append(start)
    return list(zip(starts, [*starts[1:], size], strict=True))
