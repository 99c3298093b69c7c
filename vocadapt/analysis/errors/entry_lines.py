"""Cards of error-ledger entries: lines of text with marks, tokenizations, and origin of new tokens."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from vocadapt.analysis.errors.kinds import Claim, Unit
from vocadapt.analysis.errors.ledger import Entry, Ledger, example_text
from vocadapt.analysis.errors.word_tokenizations import TokenizedWord, WordIndex
from vocadapt.training.finetune.mixture import POOLED
from vocadapt.training.tasks.examples import Example, Question, Sentence, Text

GOLD, OTHER, RIGHT, WRONG = "gold", "other", "right", "wrong"  # styles of marks
BEFORE, AFTER = 40, 40  # characters before and after what is marked
TAIL = 12  # characters after what a side predicted
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


SIDE_NAMES = ("baseline", "compared")
DescribeNeighbors = Callable[[str], str]
Claims = Sequence[tuple[str, Claim]]  # name of the side, what it predicted


def build_card(
    ledger: Ledger, entry: Entry, words: WordIndex, near: DescribeNeighbors | None = None
) -> EntryCard:
    """Build the card of an entry; `near` describes the nearest neighbors of a new token."""
    example = ledger.split.examples[entry.place]
    all_words = words_of_entry(example, entry, words)
    listed = select_words(all_words)
    vote = ledger.vote(entry)
    event = entry.event
    if entry.unit.label:
        event = f"{entry.unit.label} · {event}"
    return EntryCard(
        entry.id,
        ledger.title_of(entry),
        event,
        tuple(_build_lines(ledger, example, entry)),
        listed,
        len(all_words),
        describe_new_tokens(listed, words, near),
        "" if vote is None else _describe_vote(entry, vote.line, vote.at),
    )


def words_of_entry(example: Example, entry: Entry, words: WordIndex) -> tuple[TokenizedWord, ...]:
    """Return the words of an entry: from its first to its last unit, or all words of a text."""
    units = _units_of(entry)
    if isinstance(example, Sentence):
        start, end = min(unit.start for unit in units), max(unit.end for unit in units)
        return words.tokenize_all(example.words[start:end])
    texts = [example_text(example)]
    if isinstance(example, Question):
        texts = [unit.text for unit in units]
    found = [word for one in texts for word in words.words_of(one)]
    return words.tokenize_all(dict.fromkeys(found))


def describe_new_tokens(
    listed: Sequence[TokenizedWord], words: WordIndex, near: DescribeNeighbors | None = None
) -> tuple[str, ...]:
    """Describe origin and counts of the new tokens in words.

    Without new tokens, give the training counts of the words.
    """
    tokens = {token: word for word in listed for token in word.new}
    if not tokens:
        counts = [f"{word.word} {word.seen:,}" for word in listed if word.seen is not None]
        line = f"no new token · times in training: {', '.join(counts[:MOST_SEEN])}"
        return (line,) if counts else ()
    lines = [
        _describe_new_token(words, token, word, near)
        for token, word in list(tokens.items())[:MOST_MADE]
    ]
    if len(tokens) > MOST_MADE:
        lines.append(f"and {len(tokens) - MOST_MADE} more new tokens")
    return tuple(lines)


def format_claim(claim: Claim) -> str:
    """Format what a side predicted for a unit: "fever (Disease)"; "" for nothing."""
    return "; ".join(map(_format_unit, claim.predicted))


def _format_unit(unit: Unit) -> str:
    if unit.text and unit.label:
        return f"{unit.text} ({unit.label})"
    return unit.text or unit.label


def _describe_new_token(
    words: WordIndex, token: str, word: TokenizedWord, near: DescribeNeighbors | None
) -> str:
    neighbors = near(token) if near else ""
    seen = "" if word.seen is None else f"{word.seen:,} in training"
    return " · ".join(filter(None, (words.added[token].line, neighbors, seen)))


def select_words(words: Sequence[TokenizedWord]) -> tuple[TokenizedWord, ...]:
    """Select the words to list: those tokenized differently, or all; at most MOST_WORDS."""
    changed = [word for word in words if word.changed]
    return tuple(changed or words)[:MOST_WORDS]


def _describe_vote(entry: Entry, line: str, at: str) -> str:
    """Describe which tokenization was outvoted, where, and whether rightly."""
    where = f"at {at!r}: " if at else ""
    pooled = entry.by_tokenization.get(POOLED)
    if pooled is None or "outvoted" not in line:
        return f"{where}{line}"
    return f"{where}{line}, {'wrongly' if pooled.error else 'rightly'}"


def _units_of(entry: Entry) -> list[Unit]:
    return [entry.unit, *entry.first.predicted, *entry.second.predicted]


def _style_of(claim: Claim) -> str:
    return WRONG if claim.error else RIGHT


def _build_lines(ledger: Ledger, example: Example, entry: Entry) -> Iterable[Line]:
    claims = tuple(zip(SIDE_NAMES, (entry.first, entry.second), strict=True))
    if isinstance(example, Sentence):
        return _build_sentence_lines(ledger, example, entry, claims)
    if isinstance(example, Question):
        return _build_question_lines(example, entry, claims)
    assert isinstance(example, Text)
    return _build_text_lines(example, entry, claims)


def _build_sentence_lines(
    ledger: Ledger, example: Sentence, entry: Entry, claims: Claims
) -> Iterable[Line]:
    """Yield a sentence with its gold entities, then with those that each side predicted."""
    text, gold = " ".join(example.words), ledger.judge.units(example, example.tags or ())

    # Character at which each word starts; one more, so that the last word has an end.
    starts = [0]
    for word in example.words:
        starts.append(starts[-1] + len(word) + 1)

    def mark(unit: Unit, style: str) -> Mark:
        return Mark(starts[unit.start], starts[unit.end] - 1, style)

    # All lines begin at the same character, so that they can be compared.
    involved = [mark(unit, OTHER) for unit in _units_of(entry)]
    first = max(0, min(one.start for one in involved) - BEFORE)
    last = max(one.end for one in involved)
    marks = [mark(entry.unit, GOLD) if unit == entry.unit else mark(unit, OTHER) for unit in gold]
    note = "nothing here" if entry.alarm else ""
    yield _clip_around_marks("gold", text, marks, first, last + AFTER, note)
    for name, claim in claims:
        marks = [mark(unit, _style_of(claim)) for unit in claim.predicted]
        end = max((one.end for one in marks), default=last)
        yield _clip_around_marks(name, text, marks, first, end + TAIL, claim.error)


def _build_question_lines(example: Question, entry: Entry, claims: Claims) -> Iterable[Line]:
    """Yield the question, the gold answer in its context, and the answer of each side."""
    yield _clip_line("question", example.question)
    if entry.alarm:
        yield _build_answer_line("gold", example.context, None, GOLD, "no answer")
    else:
        others = [answer.text for answer in example.answers or () if answer.text != entry.unit.text]
        also = f"also accepted: {'; '.join(dict.fromkeys(others))[:120]}" if others else ""
        yield _build_answer_line("gold", example.context, entry.unit, GOLD, also)
    for name, claim in claims:
        answer = claim.predicted[0] if claim.predicted else None
        yield _build_answer_line(name, example.context, answer, _style_of(claim), claim.error)


def _build_answer_line(name: str, context: str, unit: Unit | None, style: str, note: str) -> Line:
    """Build the line of an answer: in its context, or alone if it does not occur there."""
    if unit is None:
        return Line(name, "", note=note)
    if unit.start < 0:
        return _clip_line(name, unit.text, style, note)
    start, end = max(0, unit.start - BEFORE), unit.end + AFTER
    return _clip_around_marks(name, context, [Mark(unit.start, unit.end, style)], start, end, note)


def _build_text_lines(example: Text, entry: Entry, claims: Claims) -> Iterable[Line]:
    """Yield a text, its pair, the gold label and the labels of each side."""
    yield _clip_line("text", example.text)
    if example.pair:
        yield _clip_line("second", example.pair)
    yield _clip_line("gold", "none" if entry.alarm else entry.unit.label, GOLD)
    for name, claim in claims:
        labels = ", ".join(unit.label for unit in claim.predicted)
        yield _clip_line(name, labels, _style_of(claim), claim.error)


def _clip_line(name: str, text: str, style: str = "", note: str = "") -> Line:
    """Build a line of at most LONGEST characters, noting what was left out; `style` marks it all."""
    clipped, notes = text, [note]
    if len(text) > LONGEST:
        clipped = f"{text[:LONGEST]}…"
        notes.append(f"{LONGEST} of {len(text):,} characters")
    marks = (Mark(0, len(clipped), style),) if style and clipped else ()
    return Line(name, clipped, marks, " · ".join(filter(None, notes)))


def _clip_around_marks(
    name: str, text: str, marks: Sequence[Mark], start: int, end: int, note: str
) -> Line:
    """Clip a text at word boundaries around a range of characters, and shift its marks.

    Example: "a case of fever and pain", mark "fever", range 6 to 15 -> "… of fever …".
    """
    # 1. Move the start to the next word, but never behind a colored mark.
    start = max(start, 0)
    if start:
        start = text.find(" ", start) + 1 or start
    start = min([start, *(mark.start for mark in marks if mark.style != OTHER)])

    # 2. Move the end to the end of its word, at most LONGEST characters away.
    space = text.find(" ", min(end, len(text)))
    if space < 0 or end >= len(text):
        space = len(text)
    end = min(space, start + LONGEST)

    # 3. Shift the marks that are still visible.
    before, after = "… " if start else "", " …" if end < len(text) else ""
    shift = len(before) - start
    visible = [mark for mark in marks if mark.start < end and mark.end > start]
    shifted = [
        Mark(max(mark.start, start) + shift, min(mark.end, end) + shift, mark.style)
        for mark in visible
    ]
    shifted.sort(key=lambda mark: mark.start)
    return Line(name, f"{before}{text[start:end]}{after}", tuple(shifted), note)
