"""Cards of error-ledger entries: lines of text with marks, tokenizations, and origin of new tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vocadapt.analysis.errors.ledger import Entry, Ledger
from vocadapt.analysis.errors.word_tokenizations import TokenizedWord, WordIndex
from vocadapt.training.finetune.tokenizations import POOLED
from vocadapt.training.tasks.kinds.judgment import Claim, Line, Unit

MAX_LISTED_WORDS, MAX_MADE, MAX_SEEN = 12, 4, 6


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


def build_card(
    ledger: Ledger, entry: Entry, words: WordIndex, near: DescribeNeighbors | None = None
) -> EntryCard:
    """Build the card of an entry; `near` describes the nearest neighbors of a new token."""
    all_words = words_of_entry(ledger, entry, words)
    listed = select_words(all_words)
    vote = ledger.vote(entry)
    event, outvoted = entry.event, ""
    if entry.unit.label:
        event = f"{entry.unit.label} · {event}"
    if vote is not None:
        outvoted = _describe_vote(entry, vote.line, vote.at)
    lines = ledger.kind.show_lines(
        ledger.split.examples[entry.place],
        entry.unit,
        tuple(zip(SIDE_NAMES, (entry.first, entry.second), strict=True)),
        alarm=entry.alarm,
        untyped=ledger.rules.untyped,
    )
    return EntryCard(
        entry.id,
        ledger.title_of(entry),
        event,
        tuple(lines),
        listed,
        len(all_words),
        describe_new_tokens(listed, words, near),
        outvoted,
    )


def words_of_entry(ledger: Ledger, entry: Entry, words: WordIndex) -> tuple[TokenizedWord, ...]:
    """Return the words of an entry: those of its units, or all words of a text."""
    example = ledger.split.examples[entry.place]
    units = [entry.unit, *entry.first.predicted, *entry.second.predicted]
    return words.tokenize_all(ledger.kind.words_of_units(example, units, words.words_of))


def describe_new_tokens(
    listed: Sequence[TokenizedWord], words: WordIndex, near: DescribeNeighbors | None = None
) -> tuple[str, ...]:
    """Describe origin and counts of the new tokens in words.

    Without new tokens, give the training counts of the words.
    """
    tokens = {token: word for word in listed for token in word.new}
    if not tokens:
        counts = [f"{word.word} {word.seen:,}" for word in listed if word.seen is not None]
        if not counts:
            return ()
        return (f"no new token · times in training: {', '.join(counts[:MAX_SEEN])}",)
    first = list(tokens.items())[:MAX_MADE]
    lines = [_describe_new_token(words, token, word, near) for token, word in first]
    if len(tokens) > MAX_MADE:
        lines.append(f"and {len(tokens) - MAX_MADE} more new tokens")
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
    facts = [words.added[token].line]
    if near:
        facts.append(near(token))
    if word.seen is not None:
        facts.append(f"{word.seen:,} in training")
    return " · ".join(filter(None, facts))


def select_words(words: Sequence[TokenizedWord]) -> tuple[TokenizedWord, ...]:
    """Select the words to list: those tokenized differently, or all; at most MAX_LISTED_WORDS."""
    changed = [word for word in words if word.changed]
    return tuple(changed or words)[:MAX_LISTED_WORDS]


def _describe_vote(entry: Entry, line: str, at: str) -> str:
    """Describe which tokenization was outvoted, where, and whether rightly."""
    if at:
        line = f"at {at!r}: {line}"
    pooled = entry.by_tokenization.get(POOLED)
    if pooled is None or "outvoted" not in line:
        return line
    if pooled.error:
        return f"{line}, wrongly"
    return f"{line}, rightly"
