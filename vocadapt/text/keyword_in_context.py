"""Keyword in context: count all occurrences of a word in a corpus and show some of them.

A word occurs where the model's splitter outputs exactly this word. BERT's own splitter never looks
across whitespace and always splits at ASCII punctuation (see `vocadapt.text.counting`), so the
bytes of a block are searched directly. Only runs with characters other than plain ASCII need the
splitter, and each distinct run is split once. Any other splitter is called line by line.
"""

import heapq
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, report_block, silent
from vocadapt.settings import MAX_SEED, CheckedSettings, setting
from vocadapt.system.forecasts import Work
from vocadapt.text.corpus import Corpus, FileBlock
from vocadapt.text.counting import LOWER, MAX_CHUNKS
from vocadapt.text.splitter import Splitter, is_encodable

MAX_SHOWN = 100_000  # maximum number of occurrences to show, and of characters on either side
ALNUM = frozenset((string.ascii_letters + string.digits).encode())
# Control characters other than blanks: the splitter deletes them, inside words too.
CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f"
RUN = rf"[0-9A-Za-z{CONTROL}\x80-\xff]"
RUNS = re.compile(f"{RUN}+".encode())
UNUSUAL = re.compile(rf"[{CONTROL}\x80-\xff]{RUN}*+".encode())

SPEED = 25e6  # bytes of text per second (two cores, 2.5 GHz)
COMPRESSED = (".gz", ".parquet")
COMPRESSION_RATIO = 3

Span = tuple[int, int]


@dataclass(frozen=True)
class ContextSettings(CheckedSettings):
    """Which occurrences of a word to show: a random sample, or the first ones."""

    limit: int = setting(20, "lines to show", low=1, high=MAX_SHOWN, flag="-n", label="Max lines")
    width: int = setting(60, "characters on either side", high=MAX_SHOWN)
    sample: bool = setting(True, "show the first lines instead of a random sample", flag="--first")
    seed: int = setting(1, "random seed of the sample", high=MAX_SEED)


DEFAULT_CONTEXT = ContextSettings()


@dataclass(frozen=True)
class Hit:
    """One occurrence: the word as written, its left and right context, its file, and its line
    number from 1.

    Lines are numbered as the reader of the file yields them. For .txt they are the lines of the
    file; for other formats, a record has one or several lines.
    """

    left: str
    match: str
    right: str
    file: Path
    line: int


@dataclass(frozen=True)
class KeywordContext:
    """A word in context: `hits` are some of its `total` occurrences, in the order of the corpus."""

    word: str
    total: int
    hits: tuple[Hit, ...]

    def describe(self, settings: ContextSettings) -> str:
        """Describe the selection, for example "20 of 153, drawn at random with seed 1"."""
        shown = f"{len(self.hits):,} of {self.total:,}"
        if len(self.hits) == self.total:
            return shown
        if settings.sample:
            return f"{shown}, drawn at random with seed {settings.seed}"
        return f"{shown}, the first"


def measure_search(text: Corpus, times: float = 1) -> Work:
    """Return the work of searching a text a number of times, from the size of its files."""
    size = 0
    for path in text.files:
        factor = COMPRESSION_RATIO if path.suffix in COMPRESSED else 1
        size += factor * path.stat().st_size
    return Work(times * size, "bytes", times * size / SPEED)


def normalize_single_word(typed: str, splitter: Splitter) -> str:
    """Normalize a typed word as the model does; raises InputError for several words or none."""
    if not is_encodable(typed):
        raise InputError(
            "The word is not valid UTF-8.",
            "Give it in the terminal's own encoding.",
            code="not-utf8",
        )
    words = splitter.words(typed)
    if len(words) == 1:
        return words[0]
    ending = "."
    if words:
        ending = f": {' '.join(words[:8])}"
    raise InputError(
        f"{typed[:100]!r} is {len(words)} words to this model{ending}",
        "Type one word.",
        code="not-one-word",
    )


def find_in_context(
    corpus: Corpus,
    word: str,
    splitter: Splitter,
    settings: ContextSettings = DEFAULT_CONTEXT,
    progress: Progress = silent,
) -> KeywordContext:
    """Find the occurrences of a typed word, in any spelling that the splitter normalizes to it.

    Raises InputError if the splitter splits it into several words.
    """
    word = normalize_single_word(word, splitter)
    return find_by_name(corpus, {word: word}, splitter, settings, progress, word)[word]


def find_by_name(
    corpus: Corpus,
    names: Mapping[str, str],
    splitter: Splitter,
    settings: ContextSettings = DEFAULT_CONTEXT,
    progress: Progress = silent,
    core: str = "",
) -> dict[str, KeywordContext]:
    """Find the occurrences of normalized words in one pass over a corpus, by name.

    names: word → name. core: a substring of all words, which makes the search fast.
    """
    find_spans: Callable[[bytes], list[Span]] = _RunFinder(splitter, frozenset(names), core)
    if not splitter.never_crosses_whitespace:
        find_spans = partial(_find_in_lines, splitter, frozenset(names))
    samples = {name: _HitSample(settings) for name in names.values()}
    name_of: dict[bytes, str] = {}  # spelling in the text -> name of its word
    for part in corpus.file_blocks():
        # 1. Find the byte spans of all words in the block.
        raw = part.text.encode()
        with report_block(part.where):
            found = find_spans(raw)

        # 2. Group them by name; each spelling is normalized once.
        spans = dict.fromkeys(samples, found)
        if len(samples) > 1:
            spans = {}
            for start, end in found:
                written = raw[start:end]
                if written not in name_of:
                    name_of[written] = _find_name(names, splitter.words(written.decode()))
                spans.setdefault(name_of[written], []).append((start, end))

        # 3. Count them, and store those to show.
        for name, spans_of_name in spans.items():
            samples[name].add(spans_of_name, raw, part)
        progress(part.fraction, f"{sum(sample.total for sample in samples.values()):,} found")
    return {
        name: KeywordContext(name, sample.total, sample.hits()) for name, sample in samples.items()
    }


def _find_name(names: Mapping[str, str], words: Sequence[str]) -> str:
    return next(names[word] for word in words if word in names)


class _HitSample:
    """Counts all occurrences and keeps a sample of them (reservoir sampling).

    Each occurrence gets a random number, and those with the smallest numbers are kept, so block
    borders do not matter. To keep the first occurrences instead, the number is the position.

    Example, limit 2: numbers .5 .1 .7 | .3 of two blocks keep .5 .1, then .1 .3.
    """

    def __init__(self, settings: ContextSettings) -> None:
        self.settings = settings
        self.total = 0
        self.draws = np.random.default_rng(settings.seed)
        # A heap of (minus the random number, position among all occurrences, hit): the first entry
        # has the largest number among them.
        self.kept: list[tuple[float, int, Hit]] = []

    def add(self, spans: list[Span], raw: bytes, part: FileBlock) -> None:
        """Count the occurrences of a block and keep those that belong to the sample."""
        # 1. The number of each occurrence: random for a sample, else its position.
        if self.settings.sample:
            keys = self.draws.random(len(spans))
        else:
            keys = np.arange(self.total, self.total + len(spans), dtype=np.float64)

        # 2. Candidates: the smallest numbers of the block, if below the largest one kept.
        limit = self.settings.limit
        best = np.arange(len(keys))
        if len(keys) > limit:
            best = np.sort(np.argpartition(keys, limit)[:limit])
        if len(self.kept) == limit:
            best = best[keys[best] < -self.kept[0][0]]

        # 3. Each candidate enters the heap; when it is full, the largest number leaves.
        for index in best.tolist():
            hit = _build_hit(raw, spans[index], part, self.settings.width)
            entry = -float(keys[index]), self.total + index, hit
            if len(self.kept) < limit:
                heapq.heappush(self.kept, entry)
            else:
                heapq.heappushpop(self.kept, entry)
        self.total += len(spans)

    def hits(self) -> tuple[Hit, ...]:
        """Return the kept occurrences in the order of the corpus."""
        return tuple(hit for _, _, hit in sorted(self.kept, key=lambda kept: kept[1]))


def _build_hit(raw: bytes, span: Span, part: FileBlock, width: int) -> Hit:
    start, end = span
    # The context ends at the line; a character of UTF-8 has four bytes at most.
    first = max(raw.rfind(b"\n", 0, start) + 1, start - 4 * width)
    last = min(raw.index(b"\n", end), end + 4 * width)
    left = raw[first:start].decode("utf-8", "ignore")
    left = left[max(len(left) - width, 0) :]
    right = raw[end:last].decode("utf-8", "ignore")[:width]
    line = part.numbers[raw.count(b"\n", 0, start)]
    return Hit(left, raw[start:end].decode(), right, part.file, line)


def _find_in_lines(splitter: Splitter, words: frozenset[str], raw: bytes) -> list[Span]:
    spans: list[Span] = []
    at = 0
    for line in raw.split(b"\n"):
        spans += [(at + start, at + end) for start, end in _find_spans(splitter, words, line)]
        at += len(line) + 1
    return spans


def _find_spans(splitter: Splitter, words: frozenset[str], raw: bytes) -> list[Span]:
    text = raw.decode()
    if words.isdisjoint(splitter.words(text)):
        return []
    spans: list[Span] = []
    characters = size = 0  # that precede the current word, in characters and in bytes
    for word, start, end in splitter.spans(text):
        if word not in words:
            continue
        size += len(text[characters:start].encode())
        spans.append((size, size + len(text[start:end].encode())))
        characters = end
        size = spans[-1][1]
    return spans


class _RunFinder:
    """Finds words in runs of characters between whitespace and ASCII punctuation.

    BERT's splitter splits each run independently of its surroundings, so a run of ASCII letters and
    digits is a word as it is, and only other runs are given to the splitter.
    """

    def __init__(self, splitter: Splitter, words: frozenset[str], core: str) -> None:
        self.splitter = splitter
        self.words = words
        self.plain = frozenset(word.encode() for word in words if word.isascii())
        self.core = core.encode()
        # A pattern of the core as a whole run. It finds the literal word first and then checks the
        # characters around it, which is fastest.
        literal = re.escape(self.core)
        run = RUN.encode()
        self.alone = re.compile(literal)
        if self.core.isalnum():
            self.alone = re.compile(b"%b(?!%b)(?<!%b%b)" % (literal, run, run, literal))
        self.known: dict[bytes, list[Span]] = {}

    def __call__(self, raw: bytes) -> list[Span]:
        return sorted([*self._find_plain(raw), *self._find_unusual(raw)])

    def _find_plain(self, raw: bytes) -> list[Span]:
        """Find words in runs of ASCII letters and digits only, and of ASCII punctuation."""
        # 1. BERT's uncased splitter lowercases; ASCII letters keep their positions.
        if not self.plain:
            return []
        low = raw
        if self.splitter.lowercase:
            low = raw.translate(LOWER)

        # 2. Without a core, look up every run. If the core is the only word, search its pattern.
        if not self.core:
            return [match.span() for match in RUNS.finditer(low) if match[0] in self.plain]
        if self.plain == {self.core}:
            return [match.span() for match in self.alone.finditer(low)]

        # 3. Else search only the lines that contain the core.
        spans: list[Span] = []
        at = low.find(self.core)
        while at >= 0:
            start = low.rfind(b"\n", 0, at) + 1
            end = low.index(b"\n", at)
            runs = RUNS.finditer(low, start, end)
            spans += [run.span() for run in runs if run[0] in self.plain]
            at = low.find(self.core, end)
        return spans

    def _find_unusual(self, raw: bytes) -> list[Span]:
        """Find words in runs with any other character; each distinct run is split once."""
        spans: list[Span] = []
        for match in UNUSUAL.finditer(raw):
            start, end = match.span()
            # The pattern matches from the first unusual character; the run may begin before it.
            while start and raw[start - 1] in ALNUM:
                start -= 1
            run = raw[start:end]
            if run not in self.known:
                if len(self.known) > MAX_CHUNKS:
                    self.known.clear()
                self.known[run] = _find_spans(self.splitter, self.words, run)
            spans += [(start + first, start + last) for first, last in self.known[run]]
        return spans
