"""Word counting by several processes: units (shards) of a corpus are counted, and added up.

The sum equals the count of a single pass, because no word continues on the next line, and all units
begin and end with a line.

    corpus ──> units ──┬─> this process, whenever no other one waits for a unit ──┬─> add_counts
                       └─> other processes, two units ahead each ─────────────────┘

A unit is a small part of the corpus, which the process that counts it reads itself
(`divide_corpus`). A file that cannot be divided (compressed, a table, Parquet), and lines that
depend on others (a random sample, the main language), are read by this process: then a unit is a
block of lines.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import Queue

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.system.files import open_file
from vocadapt.system.processes import end_with_parent
from vocadapt.text.corpus import Corpus, Passage, may_divide
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import (
    NO_COUNTS,
    TextCounter,
    WordCounts,
    add_sizes,
    add_tallies,
    count_passages,
    count_words,
    describe_size,
    finish_counts,
    tally_words,
)

SMALLEST = 4 << 20  # bytes of a part: a smaller one is not worth a process
UNIT = 1 << 20  # bytes of a unit: so small that all processes end at about the same time
AHEAD = 2  # units that a process is given before it has counted them: it never waits for the next
REPORT_EVERY = 0.2  # seconds between reports of progress

Unit = Corpus | Passage


def divide_corpus(corpus: Corpus, parts: int, smallest: int = SMALLEST) -> tuple[Corpus, ...]:
    """Divide a corpus into at most `parts` parts of about equal size, in order, at ends of lines.

    Large files of plain text are divided; small and other files stay whole. Returns the corpus
    itself if its lines depend on one another, or if it is smaller than two parts.

    Example, parts = 2: files of 6, 1 and 1 MB -> the first 4 MB; the other 2 MB; the small files.
    """
    depends = corpus.settings.reads_in_order
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


def add_counts(parts: Sequence[WordCounts], corpus: Corpus) -> WordCounts:
    """Add the word counts of the parts of a corpus; the result is that of a single pass.

    Raises InputError if there are no words, or words with blanks inside.
    """
    return finish_counts(add_tallies(parts), corpus)


def count_words_in_parallel(
    corpus: Corpus, splitter: Splitter, workers: int, progress: Progress = silent
) -> WordCounts:
    """Count the words of a corpus by several processes; the result is that of `count_words`.

    Raises what `count_words` raises.
    """
    if workers == 1 or corpus.bytes < 2 * SMALLEST:
        return count_words(corpus, splitter, progress)
    parts = divide_corpus(corpus, -(-corpus.bytes // UNIT), UNIT)
    units: Iterator[Unit] = iter(parts)
    if len(parts) == 1:
        units = corpus.passages()
    try:
        return _count_units(corpus, units, len(parts), splitter, workers, progress)
    except _UnitError:
        # A single pass raises the same error with the line number in the whole text.
        return count_words(corpus, splitter, progress)


class _UnitError(Exception):
    """A unit could not be counted."""


@dataclass(eq=False)
class _Counter:
    """A process that counts words, and the connection to it. waiting: number of answers to come,
    one for each unit, and AHEAD that it sends when it has started.
    """

    process: BaseProcess
    connection: Connection
    waiting: int = AHEAD

    def send(self, unit: Unit | None) -> None:
        """Give it a unit, or None after the last one."""
        with _convert_loss():
            self.connection.send(unit)
        self.waiting += 1

    def receive(self) -> WordCounts:
        """Return the next answer: the size of a unit, and after the last one the counts of all."""
        with _convert_loss():
            found: WordCounts | None = self.connection.recv()
        if found is None:
            raise _UnitError
        self.waiting -= 1
        return found


@dataclass(eq=False)
class _Division:
    """The remaining units, the processes that count them, and their answers."""

    units: Iterator[Unit]
    number: int  # of units; 1 if they are blocks of lines
    counters: Sequence[_Counter]
    found: list[WordCounts] = field(default_factory=list)
    total: WordCounts = NO_COUNTS  # size of all units that were counted
    fraction: float = 0.0
    taken: int = 0

    def take(self) -> Unit | None:
        """Return the next unit; None if there is none."""
        unit = next(self.units, None)
        if unit is None:
            return None
        self.taken += 1
        self.fraction = self.taken / self.number
        if isinstance(unit, Passage):
            self.fraction = unit.fraction
        return unit

    def feed(self) -> None:
        """Collect the available answers, and send every process up to AHEAD units."""
        for counter in self.counters:
            while counter.waiting and counter.connection.poll():
                self.add(counter.receive())
            while counter.waiting < AHEAD and (unit := self.take()) is not None:
                counter.send(unit)

    def collect(self, progress: Progress) -> None:
        """Wait for the counts of all processes."""
        for counter in self.counters:
            while counter.waiting:
                if counter.connection.poll(REPORT_EVERY):
                    self.add(counter.receive())
                self.report(progress)

    def add(self, found: WordCounts) -> None:
        """Add an answer."""
        self.found.append(found)
        self.total = add_sizes((self.total, found))

    def report(self, progress: Progress) -> None:
        """Report the lines that were read."""
        progress(self.fraction, describe_size(self.total))


def _count_units(
    corpus: Corpus,
    units: Iterator[Unit],
    number: int,
    splitter: Splitter,
    workers: int,
    progress: Progress,
) -> WordCounts:
    """Count units of a corpus by this process and `workers` - 1 others, which start later."""
    tally = TextCounter(splitter)
    with _start_counters(workers - 1, splitter) as counters:
        division = _Division(units, number, counters)
        division.feed()
        while (unit := division.take()) is not None:
            try:
                for size, _ in _count_unit(unit, tally):
                    division.add(size)
                    division.feed()
                    division.report(progress)
            except InputError:  # its line numbers are those in the unit, not in the text
                raise _UnitError from None
        for counter in counters:  # they split their chunks into words while this process does
            counter.send(None)
        own = tally.finish()
        division.collect(progress)
    return add_counts([own, *division.found], corpus)


def _count_unit(unit: Unit, tally: TextCounter) -> Iterator[tuple[WordCounts, float]]:
    """Count the words of a unit; yield the sizes of its passages."""
    passages: Iterable[Passage] = (unit,) if isinstance(unit, Passage) else unit.passages()
    return count_passages(passages, tally.count)


@contextmanager
def _start_counters(number: int, splitter: Splitter) -> Iterator[list[_Counter]]:
    # Spawn, not fork: a forked process with threads may hang.
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
    """Count the units that arrive on a connection, after AHEAD answers that ask for the first ones.

    Each is answered with its size, None if it cannot be read; after the last one, None, the counts
    of all are sent.
    """
    end_with_parent()
    tally = TextCounter(splitter)
    units: Queue[Unit | None] = Queue()
    threading.Thread(target=_receive_units, args=(connection, units), daemon=True).start()
    with suppress(OSError):  # the other side has ended
        for _ in range(AHEAD):
            connection.send(NO_COUNTS)
        while (unit := units.get()) is not None:
            try:
                connection.send(add_sizes([size for size, _ in _count_unit(unit, tally)]))
            except InputError:
                connection.send(None)
        connection.send(tally.finish())


def _receive_units(connection: Connection, units: "Queue[Unit | None]") -> None:
    """Receive units while others are counted, so that the sender never blocks."""
    with suppress(EOFError, OSError):
        while (unit := connection.recv()) is not None:
            units.put(unit)
    units.put(None)


def tally_part(part: Corpus, splitter: Splitter) -> WordCounts | None:
    """Count the words of a part; None if it cannot be read."""
    try:
        return tally_words(part, splitter)
    except InputError:
        return None


@contextmanager
def _convert_loss() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):
        raise _UnitError from None


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
