"""Keyword in context: count all occurrences of a word in a corpus and show some of them.

A place counts where the model's splitter gives exactly this word. BERT's own splitter never looks
across blanks and always cuts at ASCII punctuation (see `vocadapt.text.counting`), so the bytes of a
block are searched, and only runs of characters that are not all plain ASCII are given to the
splitter, each distinct one once. Any other splitter is called line by line.
"""

import heapq
import re
import string
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, report_block, silent
from vocadapt.settings import LARGEST_SEED, bounded, check_settings
from vocadapt.text.corpus import Corpus, FileBlock
from vocadapt.text.counting import LOWER, MAX_PIECES
from vocadapt.text.splitter import Splitter

MOST = 100_000  # maximum number of occurrences to show, and of characters on either side
ALNUM = frozenset((string.ascii_letters + string.digits).encode())
CONTROL = (  # not blanks: the splitter deletes them, inside words too
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f"
)
RUN = rf"[0-9A-Za-z{CONTROL}\x80-\xff]"
RUNS = re.compile(f"{RUN}+".encode())
UNUSUAL = re.compile(rf"[{CONTROL}\x80-\xff]{RUN}*+".encode())

Span = tuple[int, int]
Finder = Callable[[bytes], list[Span]]


@dataclass(frozen=True)
class ContextSettings:
    """Number of occurrences to show, characters of context per side, and random sample or first.

    Raises InputError for numbers outside their range.
    """

    limit: int = bounded(20, 1, MOST, "Lines to show")
    width: int = bounded(60, 0, MOST, "Characters on either side")
    sample: bool = True
    seed: int = bounded(1, 0, LARGEST_SEED, "Seed of the lines to show")

    def __post_init__(self) -> None:
        check_settings(self)


DEFAULT_CONTEXT = ContextSettings()


@dataclass(frozen=True)
class Hit:
    """One occurrence: the word as written, its left and right context, its file, and its line from 1.

    The lines of a file are those that its reader gives: of .txt the file's own, of other formats
    one for each record's line.
    """

    left: str
    match: str
    right: str
    file: Path
    line: int


@dataclass(frozen=True)
class Context:
    """A word in context: `hits` are some of its `of` occurrences, in the order of the corpus."""

    word: str
    of: int
    hits: tuple[Hit, ...]

    def describe(self, settings: ContextSettings) -> str:
        """Describe the selection, for example "20 of 153, drawn at random with seed 1"."""
        shown = f"{len(self.hits):,} of {self.of:,}"
        if len(self.hits) == self.of:
            return shown
        return (
            f"{shown}, drawn at random with seed {settings.seed}"
            if settings.sample
            else f"{shown}, the first"
        )


def normalize_single_word(typed: str, splitter: Splitter) -> str:
    """Normalize a typed word as the model does; raises InputError for several words or none."""
    if any("\ud800" <= character <= "\udfff" for character in typed):
        raise InputError("The word is not valid UTF-8.", "Give it in the terminal's own encoding.")
    words = splitter.words(typed)
    if len(words) != 1:
        which = f": {' '.join(words[:8])}" if words else "."
        raise InputError(
            f"{typed[:100]!r} is {len(words)} words to this model{which}", "Type one word."
        )
    return words[0]


def find_in_context(
    corpus: Corpus,
    word: str,
    splitter: Splitter,
    settings: ContextSettings = DEFAULT_CONTEXT,
    progress: Progress = silent,
) -> Context:
    """Find the occurrences of a typed word, in any spelling that the splitter normalizes to it.

    Raises InputError if the splitter makes several words of it.
    """
    word = normalize_single_word(word, splitter)
    return find_any_in_context(corpus, word, [word], word, splitter, settings, progress)


def find_any_in_context(
    corpus: Corpus,
    name: str,
    words: Collection[str],
    core: str,
    splitter: Splitter,
    settings: ContextSettings = DEFAULT_CONTEXT,
    progress: Progress = silent,
) -> Context:
    """Find the occurrences of any of some normalized words, reported under one `name`.

    core: a substring that all the words contain, which makes the search fast.
    """
    find, chosen = _finder(splitter, frozenset(words), core), _Chosen(settings)
    for part in corpus.parts():
        raw = part.text.encode()
        with report_block(part.where):
            found = find(raw)
        chosen.add(found, raw, part)
        progress(part.fraction, f"{chosen.of:,} found")
    return Context(name, chosen.of, chosen.hits())


def find_each_in_context(
    corpus: Corpus,
    words: Collection[str],
    splitter: Splitter,
    settings: ContextSettings = DEFAULT_CONTEXT,
    progress: Progress = silent,
) -> dict[str, Context]:
    """Find the occurrences of each of some normalized words in one pass over the corpus."""
    find, known = _finder(splitter, frozenset(words), ""), dict[bytes, str]()
    chosen = {word: _Chosen(settings) for word in words}
    for part in corpus.parts():
        raw, spans = part.text.encode(), dict[str, list[Span]]()
        with report_block(part.where):
            found = find(raw)
        for start, end in found:
            written = raw[start:end]
            if written not in known:
                known[written] = next(
                    word for word in splitter.words(written.decode()) if word in chosen
                )
            spans.setdefault(known[written], []).append((start, end))
        for word, places in spans.items():
            chosen[word].add(places, raw, part)
        progress(part.fraction, f"{sum(one.of for one in chosen.values()):,} found")
    return {word: Context(word, one.of, one.hits()) for word, one in chosen.items()}


class _Chosen:
    """Counts all occurrences and keeps a sample of them (reservoir sampling).

    Each occurrence draws one random number and the smallest are kept, so block borders do not
    matter.
    """

    def __init__(self, settings: ContextSettings) -> None:
        self.settings = settings
        self.of = 0
        self.draws = np.random.default_rng(settings.seed)
        self.kept: list[
            tuple[float, int, Hit]
        ] = []  # a heap: minus the number drawn, the place's own number

    def add(self, spans: list[Span], raw: bytes, part: FileBlock) -> None:
        """Take the places of a block."""
        # The keys of the occurrences: random for a sample, their position for the first ones.
        if self.settings.sample:
            keys = self.draws.random(len(spans))
        else:
            keys = np.arange(self.of, self.of + len(spans), dtype=np.float64)
        limit = self.settings.limit
        best = np.arange(len(keys))
        if len(keys) > limit:
            best = np.sort(np.argpartition(keys, limit)[:limit])
        if len(self.kept) == limit:
            best = best[keys[best] < -self.kept[0][0]]
        for index in best.tolist():
            place = (
                -float(keys[index]),
                self.of + index,
                _hit(raw, spans[index], part, self.settings.width),
            )
            if len(self.kept) < limit:
                heapq.heappush(self.kept, place)
            else:
                heapq.heappushpop(self.kept, place)
        self.of += len(spans)

    def hits(self) -> tuple[Hit, ...]:
        """What was kept, in the order of the corpus."""
        return tuple(hit for _, _, hit in sorted(self.kept, key=lambda kept: kept[1]))


def _hit(raw: bytes, span: Span, part: FileBlock, width: int) -> Hit:
    """Build the hit at a span of bytes of a block."""
    start, end = span
    first = max(raw.rfind(b"\n", 0, start) + 1, start - 4 * width)
    last = min(raw.index(b"\n", end), end + 4 * width)  # four bytes to a character at most
    left = raw[first:start].decode("utf-8", "ignore")[-width:] if width else ""
    right = raw[end:last].decode("utf-8", "ignore")[:width]
    return Hit(
        left, raw[start:end].decode(), right, part.file, part.numbers[raw.count(b"\n", 0, start)]
    )


def _finder(splitter: Splitter, words: frozenset[str], core: str) -> Finder:
    """Return the finder of `words` for a splitter: from a block to the byte spans, in order."""
    if not splitter.never_crosses_blanks:
        return partial(_in_lines, splitter, words)
    return _RunFinder(splitter, words, core)


def _in_lines(splitter: Splitter, words: frozenset[str], raw: bytes) -> list[Span]:
    """Return the byte spans of words, by splitting each line."""
    spans: list[Span] = []
    at = 0
    for line in raw.split(b"\n"):
        spans += [(at + start, at + end) for start, end in _spans(splitter, words, line)]
        at += len(line) + 1
    return spans


def _spans(splitter: Splitter, words: frozenset[str], raw: bytes) -> list[Span]:
    """Return the byte spans of words in one line or run."""
    text = raw.decode()
    if words.isdisjoint(splitter.words(text)):
        return []
    spans: list[Span] = []
    characters = size = 0
    for start, end in ((start, end) for word, start, end in splitter.spans(text) if word in words):
        size += len(text[characters:start].encode())
        spans.append((size, size + len(text[start:end].encode())))
        size, characters = spans[-1][1], end
    return spans


class _RunFinder:
    """Finds words in runs of characters between blanks and ASCII punctuation.

    BERT's splitter splits each run independently of its surroundings.
    """

    def __init__(self, splitter: Splitter, words: frozenset[str], core: str) -> None:
        self.splitter = splitter
        self.words = words
        self.plain = frozenset(word.encode() for word in words if word.isascii())
        self.core = core.encode()
        self.alone = _alone(self.core)
        self.known: dict[bytes, list[Span]] = {}

    def __call__(self, raw: bytes) -> list[Span]:
        plain = (
            self._plain(raw.translate(LOWER) if self.splitter.lowercase else raw)
            if self.plain
            else []
        )
        unusual = self._unusual(raw)
        return sorted([*plain, *unusual]) if unusual else plain

    def _plain(self, low: bytes) -> list[Span]:
        """Places in runs of ASCII letters and digits only, and of ASCII punctuation."""
        if not self.core:  # the words share no letters to look for
            return [match.span() for match in RUNS.finditer(low) if match[0] in self.plain]
        if self.plain == {self.core}:
            return [match.span() for match in self.alone.finditer(low)]
        spans: list[Span] = []
        at = low.find(self.core)
        while at >= 0:  # from line to line that holds the core
            start, end = low.rfind(b"\n", 0, at) + 1, low.index(b"\n", at)
            spans += [
                match.span() for match in RUNS.finditer(low, start, end) if match[0] in self.plain
            ]
            at = low.find(self.core, end)
        return spans

    def _unusual(self, raw: bytes) -> list[Span]:
        """Places in runs that hold anything else."""
        spans: list[Span] = []
        for match in UNUSUAL.finditer(raw):
            start, end = match.span()
            while start and raw[start - 1] in ALNUM:
                start -= 1
            spans += [(start + first, start + last) for first, last in self._inside(raw[start:end])]
        return spans

    def _inside(self, run: bytes) -> list[Span]:
        if run not in self.known:
            if len(self.known) > MAX_PIECES:
                self.known.clear()
            self.known[run] = _spans(self.splitter, self.words, run)
        return self.known[run]


def _alone(word: bytes) -> re.Pattern[bytes]:
    """Compile a pattern that matches a word as a whole run.

    It searches the literal word first and checks its surroundings after, which is fastest.
    """
    literal, run = re.escape(word), RUN.encode()
    return re.compile(
        b"%b(?!%b)(?<!%b%b)" % (literal, run, run, literal) if word.isalnum() else literal
    )
