"""Cards of error-ledger entries: marked text, tokenizations, and the origin of new tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vocadapt.analysis.errors.ledger import Entry, Ledger
from vocadapt.analysis.errors.word_tokenizations import TokenizedWord, WordIndex
from vocadapt.training.finetune.tokenizations import POOLED
from vocadapt.training.tasks.kinds.judgment import Claim, Line

MAX_LISTED_WORDS, MAX_NEW_TOKENS, MAX_COUNTED_WORDS = 12, 4, 6


@dataclass(frozen=True)
class EntryCard:
    """A card: id, title of the example, what changed, its lines, and its words.

    `words`: the listed words, of `n_words` in all; `origins`: how the embeddings of new tokens were
    initialized; `vote`: which tokenization was outvoted.
    """

    id: str
    title: str
    event: str
    lines: tuple[Line, ...]
    words: tuple[TokenizedWord, ...]
    n_words: int
    origins: tuple[str, ...]
    vote: str = ""


SIDE_NAMES = ("baseline", "compared")
DescribeNeighbors = Callable[[str], str]


def build_card(
    ledger: Ledger, entry: Entry, words: WordIndex, near: DescribeNeighbors | None = None
) -> EntryCard:
    """Build the card of an entry; `near` describes the nearest neighbors of a new token."""
    all_words = words_of_entry(ledger, entry, words)
    listed = select_words(all_words)
    event = entry.event
    if entry.unit.label:
        event = f"{entry.unit.label} · {event}"
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
        _describe_vote(ledger, entry),
    )


def words_of_entry(ledger: Ledger, entry: Entry, words: WordIndex) -> tuple[TokenizedWord, ...]:
    """Return the words of an entry: those of its units, or all words of a text."""
    example = ledger.split.examples[entry.place]
    units = [entry.unit, *entry.first.predicted, *entry.second.predicted]
    return words.tokenize_all(ledger.kind.words_of_units(example, units, words.words_of))


def describe_new_tokens(
    listed: Sequence[TokenizedWord], words: WordIndex, near: DescribeNeighbors | None = None
) -> tuple[str, ...]:
    """Describe the origin and counts of the new tokens in words.

    If there are no new tokens, describe the training counts of the words instead.
    """
    # 1. Without new tokens, list the known training counts of the words.
    tokens = {token: word for word in listed for token in word.new}
    if not tokens:
        counts = [f"{word.word} {word.seen:,}" for word in listed if word.seen is not None]
        if not counts:
            return ()
        listed_counts = ", ".join(counts[:MAX_COUNTED_WORDS])
        return (f"no new tokens · occurrences in training: {listed_counts}",)
    # 2. For each new token list its origin, its neighbors, and the training count of its word.
    lines = []
    for token, word in list(tokens.items())[:MAX_NEW_TOKENS]:
        line = words.added[token].line
        neighbors = near(token) if near else ""
        if neighbors:
            line += f" · {neighbors}"
        if word.seen is not None:
            line += f" · {word.seen:,} in training"
        lines.append(line)
    if len(tokens) > MAX_NEW_TOKENS:
        lines.append(f"and {len(tokens) - MAX_NEW_TOKENS} more new tokens")
    return tuple(lines)


def format_claim(claim: Claim) -> str:
    """Format the prediction of a side for a unit: "fever (Disease)"; "" for no prediction."""
    texts = []
    for unit in claim.predicted:
        text = unit.text or unit.label
        if unit.text and unit.label:
            text += f" ({unit.label})"
        texts.append(text)
    return "; ".join(texts)


def select_words(words: Sequence[TokenizedWord]) -> tuple[TokenizedWord, ...]:
    """Return the words that are tokenized differently, or all if none is; at most
    MAX_LISTED_WORDS.
    """
    changed = [word for word in words if word.changed]
    return tuple(changed or words)[:MAX_LISTED_WORDS]


def _describe_vote(ledger: Ledger, entry: Entry) -> str:
    """Describe which tokenization was outvoted, on which word, and whether rightly; "" without a
    vote.
    """
    vote = ledger.vote(entry)
    if vote is None:
        return ""
    line = vote.line
    if vote.at:
        line = f"at {vote.at!r}: {line}"
    pooled = entry.by_tokenization.get(POOLED)
    # Only a vote that outvoted one of them can be right or wrong.
    if pooled is None or "outvoted" not in line:
        return line
    if pooled.error:
        return f"{line}, wrongly"
    return f"{line}, rightly"
