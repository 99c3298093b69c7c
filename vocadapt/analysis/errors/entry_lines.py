"""Cards of error-ledger entries: lines of text with marks, tokenizations, and origin of new tokens."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from vocadapt.analysis.errors.kinds import Claim, Unit
from vocadapt.analysis.errors.ledger import Entry, Ledger, example_text
from vocadapt.analysis.errors.word_tokenizations import TokenizedWord, WordIndex
from vocadapt.training.finetune.mixture import POOLED
from vocadapt.training.tasks.base import Example, Question, Sentence, Text

GOLD, OTHER, RIGHT, WRONG = "gold", "other", "right", "wrong"  # styles of marks
BEFORE, AFTER, TAIL = (
    40,
    40,
    12,
)  # characters round what is marked; of the sides' own lines behind it
LONGEST = 420  # characters of a line
MOST_WORDS, MOST_MADE, MOST_SEEN = 12, 4, 6


@dataclass(frozen=True)
class Mark:
    """Characters `start` to `end` of a line, and the style of the mark."""

    start: int
    end: int
    style: str


@dataclass(frozen=True)
class Line:
    """A line of a card: name, text, marks, and a note."""

    name: str
    text: str
    marks: tuple[Mark, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class EntryCard:
    """A card: id, title of the example, what changed, its lines, and `of` words of which `words`
    are listed.

    `made`: how the embeddings of new tokens were initialized; `vote`: which tokenization was
    outvoted.
    """

    id: str
    title: str
    event: str
    lines: tuple[Line, ...]
    words: tuple[TokenizedWord, ...]
    of: int
    made: tuple[str, ...]
    vote: str = ""


NAMES = ("baseline", "compared")
DescribeNeighbors = Callable[[str], str]


def build_card(
    book: Ledger, entry: Entry, words: WordIndex, near: DescribeNeighbors | None = None
) -> EntryCard:
    """Build the card of an entry; `near` describes the nearest neighbors of a new token."""
    example = book.split.examples[entry.place]
    held = words_of_entry(example, entry, words)
    shown = select_words(held)
    vote = book.vote(entry)
    return EntryCard(
        entry.id,
        book.title_of(entry),
        f"{entry.unit.label} · {entry.event}" if entry.unit.label else entry.event,
        tuple(_build_lines(book, example, entry)),
        shown,
        len(held),
        describe_new_tokens(shown, words, near),
        _describe_vote(entry, vote.line, vote.at) if vote else "",
    )


def words_of_entry(example: Example, entry: Entry, words: WordIndex) -> tuple[TokenizedWord, ...]:
    """Return the words of an entry: those of the gold unit and of all predicted units; all words of
    a text.
    """
    units = [entry.unit, *entry.first.predicted, *entry.second.predicted]
    if isinstance(example, Sentence):
        return words.tokenize_all(
            example.words[min(unit.start for unit in units) : max(unit.end for unit in units)]
        )
    if isinstance(example, Question):
        return words.tokenize_all(
            dict.fromkeys(word for unit in units for word in words.words_of(unit.text))
        )
    return words.tokenize_all(dict.fromkeys(words.words_of(example_text(example))))


def describe_new_tokens(
    shown: Sequence[TokenizedWord], words: WordIndex, near: DescribeNeighbors | None = None
) -> tuple[str, ...]:
    """Describe the origin and counts of new tokens; without new tokens, the training counts of
    words.
    """
    tokens = {token: word for word in shown for token in word.new}
    lines = [
        _describe_new_token(words, token, word, near)
        for token, word in list(tokens.items())[:MOST_MADE]
    ]
    if not lines:
        seen = [f"{word.word} {word.seen:,}" for word in shown if word.seen is not None][:MOST_SEEN]
        return (f"no new token · times in training: {', '.join(seen)}",) if seen else ()
    more = (f"and {len(tokens) - MOST_MADE} more new tokens",) if len(tokens) > MOST_MADE else ()
    return (*lines, *more)


def format_claim(claim: Claim) -> str:
    """Format what a side predicted for a unit; "" for nothing."""
    return "; ".join(
        " ".join(
            filter(None, (unit.text, f"({unit.label})" if unit.text and unit.label else unit.label))
        )
        for unit in claim.predicted
    )


def _describe_new_token(
    words: WordIndex, token: str, word: TokenizedWord, near: DescribeNeighbors | None
) -> str:
    seen = "" if word.seen is None else f"{word.seen:,} in training"
    return " · ".join(filter(None, (words.added[token].line, near(token) if near else "", seen)))


def select_words(words: Sequence[TokenizedWord]) -> tuple[TokenizedWord, ...]:
    """Select the words to list: those tokenized differently, or all; at most MOST_WORDS."""
    changed = [word for word in words if word.changed]
    return tuple(changed or words)[:MOST_WORDS]


def _describe_vote(entry: Entry, line: str, at: str) -> str:
    """Describe which tokenization was outvoted, where, and whether rightly."""
    where = f"at {at!r}: " if at else ""
    pooled = entry.by_tokenization.get(POOLED)
    verdict = "" if pooled is None else ", rightly" if not pooled.error else ", wrongly"
    return f"{where}{line}{verdict if 'outvoted' in line else ''}"


def _build_lines(book: Ledger, example: Example, entry: Entry) -> Iterable[Line]:
    sides = tuple(zip(NAMES, (entry.first, entry.second), strict=True))
    if isinstance(example, Sentence):
        yield from _build_sentence_lines(book, example, entry, sides)
    elif isinstance(example, Question):
        yield from _build_question_lines(example, entry, sides)
    else:
        yield from _build_text_lines(example, entry, sides)


Sides = Sequence[tuple[str, Claim]]


def _build_sentence_lines(
    book: Ledger, example: Sentence, entry: Entry, sides: Sides
) -> Iterable[Line]:
    begins = [0]
    for word in example.words:
        begins.append(begins[-1] + len(word) + 1)

    def mark(unit: Unit, style: str) -> Mark:
        return Mark(begins[unit.start], begins[unit.end] - 1, style)

    text, gold = " ".join(example.words), book.judge.units(example, example.tags or ())
    touched = [
        mark(unit, OTHER) for unit in (entry.unit, *entry.first.predicted, *entry.second.predicted)
    ]
    first, last = (
        max(0, min(one.start for one in touched) - BEFORE),
        max(one.end for one in touched),
    )
    styles = [mark(unit, GOLD if unit == entry.unit else OTHER) for unit in gold]
    yield _clip_around_marks(
        "gold", text, styles, first, last + AFTER, "nothing here" if entry.alarm else ""
    )
    for name, claim in sides:
        marks = [mark(unit, WRONG if claim.error else RIGHT) for unit in claim.predicted]
        end = max((one.end for one in marks), default=last)
        yield _clip_around_marks(name, text, marks, first, end + TAIL, claim.error)


def _build_question_lines(example: Question, entry: Entry, sides: Sides) -> Iterable[Line]:
    yield _clip_line("question", example.question)
    others = [answer.text for answer in example.answers or () if answer.text != entry.unit.text]
    also = f"also accepted: {'; '.join(dict.fromkeys(others))[:120]}" if others else ""
    gold = entry.unit if not entry.alarm else None
    yield _build_answer_line("gold", example.context, gold, GOLD, also if gold else "no answer")
    for name, claim in sides:
        said = claim.predicted[0] if claim.predicted else None
        yield _build_answer_line(
            name, example.context, said, WRONG if claim.error else RIGHT, claim.error
        )


def _build_answer_line(name: str, context: str, unit: Unit | None, style: str, note: str) -> Line:
    """Build the line of an answer: in its context, or alone if it does not occur there."""
    if unit is None:
        return Line(name, "", note=note)
    if unit.start < 0:
        return _clip_line(name, unit.text, style, note)
    return _clip_around_marks(
        name,
        context,
        [Mark(unit.start, unit.end, style)],
        max(0, unit.start - BEFORE),
        unit.end + AFTER,
        note,
    )


def _build_text_lines(example: Example, entry: Entry, sides: Sides) -> Iterable[Line]:
    assert isinstance(example, Text)
    yield _clip_line("text", example.text)
    if example.pair:
        yield _clip_line("second", example.pair)
    yield _clip_line("gold", "none" if entry.alarm else entry.unit.label, GOLD)
    for name, claim in sides:
        said = ", ".join(unit.label for unit in claim.predicted)
        yield _clip_line(name, said, WRONG if claim.error else RIGHT, claim.error)


def _clip_line(name: str, text: str, style: str = "", note: str = "") -> Line:
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    cut_off = "" if len(text) <= LONGEST else f"{LONGEST} of {len(text):,} characters"
    marks = (Mark(0, len(shown), style),) if style and shown else ()
    return Line(name, shown, marks, " · ".join(filter(None, (note, cut_off))))


def _clip_around_marks(
    name: str, text: str, marks: Sequence[Mark], start: int, end: int, note: str
) -> Line:
    """Clip a text at word boundaries around a range of characters, and shift its marks."""
    start = 0 if start <= 0 else text.find(" ", start) + 1 or start
    start = min([start, *(mark.start for mark in marks if mark.style != OTHER)])
    space = text.find(" ", min(end, len(text)))
    end = min(len(text) if space < 0 or end >= len(text) else space, start + LONGEST)
    before, after = "… " if start else "", " …" if end < len(text) else ""
    move = len(before) - start
    kept = (
        Mark(max(mark.start, start) + move, min(mark.end, end) + move, mark.style)
        for mark in marks
        if mark.start < end and mark.end > start
    )
    return Line(
        name,
        f"{before}{text[start:end]}{after}",
        tuple(sorted(kept, key=lambda mark: mark.start)),
        note,
    )
