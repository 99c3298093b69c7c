"""Vocabularies beside each other: common tokens, lengths, positions, single characters, and tokens
that no text can reach.

A token's length is counted without the mark of a continuation (##). Shares are of the row's
vocabulary: of BERT's own share with PubMedBERT, 12 309 / 30 522 (table 3.1 of the thesis on
low-layer information integration, 2023).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from vocadapt.spaces.projection.token_choice import UNUSED
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families.wordpiece import Vocabulary

POSITIONS = ("word start", "continuation", "whole word", "special", "unused")
CARRIERS = 8  # beginnings of a word that are tried before a continuation counts as unreachable


def body(token: str, vocabulary: Vocabulary) -> str:
    """What a token stands for in a text: "##tension" → "tension"."""
    return (
        token.removeprefix(vocabulary.continuation)
        if position(token, vocabulary) == "continuation"
        else token
    )


def position(token: str, vocabulary: Vocabulary) -> str:
    """Where in a word a token may stand: one of POSITIONS; "##" alone is a beginning."""
    if token in vocabulary.special or token == vocabulary.unknown:
        return "special"
    if token in vocabulary.whole:
        return "whole word"
    if UNUSED.fullmatch(token):
        return "unused"
    return "continuation" if vocabulary.continues(token) else "word start"


def length_of(token: str, vocabulary: Vocabulary) -> int:
    """Characters of a token, without the mark of a continuation."""
    return len(body(token, vocabulary))


@dataclass(frozen=True, eq=False)
class Overlap:
    """How many tokens some vocabularies have in common: `common` (n, n), its diagonal the different
    tokens of each.
    """

    common: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The different tokens of each vocabulary."""
        return tuple(row[i] for i, row in enumerate(self.common))

    @property
    def share(self) -> tuple[tuple[float, ...], ...]:
        """Common tokens as a share of the row's vocabulary, (n, n)."""
        return tuple(
            tuple(count / size for count in row)
            for size, row in zip(self.sizes, self.common, strict=True)
        )


def measure_overlap(vocabularies: Sequence[Vocabulary]) -> Overlap:
    """Count the common tokens of every pair; spelling counts, so do continuation marks."""
    sets = [set(vocabulary.tokens) for vocabulary in vocabularies]
    return Overlap(tuple(tuple(len(one & other) for other in sets) for one in sets))


def list_common_tokens(vocabularies: Sequence[Vocabulary]) -> tuple[str, ...]:
    """The tokens that all have, in the order of the first one's ids."""
    first, *others = vocabularies
    shared = set(first.tokens).intersection(*(other.tokens for other in others))
    return tuple(token for token in first.tokens if token in shared)


@dataclass(frozen=True, eq=False)
class Profile:
    """A vocabulary in figures.

    lengths: length → tokens of that length, special and unused ones aside. positions: POSITIONS →
    tokens. single, single_more: the single characters that it knows at the beginning of a word, and
    as a continuation. unreachable: see `unreachable`.
    """

    tokens: tuple[str, ...]
    lengths: Mapping[int, int]
    positions: Mapping[str, int]
    single: frozenset[str]
    single_more: frozenset[str]
    unreachable: tuple[str, ...]

    @cached_property
    def unreachable_unused(self) -> int:
        """How many of the unreachable ones are placeholders such as [unused7]."""
        return sum(UNUSED.fullmatch(token) is not None for token in self.unreachable)


def profile(vocabulary: Vocabulary, splitter: Splitter) -> Profile:
    """Measure a vocabulary; `splitter` makes the words that it cuts."""
    places = {token: position(token, vocabulary) for token in vocabulary.tokens}
    counted = Counter(places.values())
    short = [(place, body(token, vocabulary)) for token, place in places.items()]
    return Profile(
        vocabulary.tokens,
        count_lengths(vocabulary, vocabulary.tokens),
        {place: counted[place] for place in POSITIONS},
        frozenset(text for place, text in short if place == "word start" and len(text) == 1),
        frozenset(text for place, text in short if place == "continuation" and len(text) == 1),
        find_unreachable(vocabulary, splitter),
    )


def count_lengths(vocabulary: Vocabulary, tokens: Iterable[str]) -> dict[int, int]:
    """Length → how many of `tokens` are so long, shortest first; special and unused tokens
    aside.
    """
    written = (
        token for token in tokens if position(token, vocabulary) not in ("special", "unused")
    )
    return dict(sorted(Counter(length_of(token, vocabulary) for token in written).items()))


def find_unreachable(
    vocabulary: Vocabulary, splitter: Splitter, tokens: Iterable[str] | None = None
) -> tuple[str, ...]:
    """Those of `tokens` (default: all but special ones) that no text can give: normalizer,
    pre-tokenizer, longest match.

    A beginning is reached when the splitter leaves it as one word. A continuation is reached behind
    a beginning that no longer token begins with, where the splitter leaves both together as one
    word: whatever follows such a carrier, longest match takes the carrier first and then, as the
    rest is the continuation, all of it. A token longer than `longest_word` is never reached.
    """
    carriers = _carriers(vocabulary, splitter)
    asked = vocabulary.tokens if tokens is None else tokens
    return tuple(token for token in asked if not _reached(token, vocabulary, splitter, carriers))


def _reached(
    token: str, vocabulary: Vocabulary, splitter: Splitter, carriers: tuple[str, ...]
) -> bool:
    place, text = position(token, vocabulary), body(token, vocabulary)
    if place == "special":
        return True
    if place == "whole word":
        return splitter.keeps(token)
    if place == "continuation":
        words = [carrier + text for carrier in carriers]
        return any(
            len(word) <= vocabulary.longest_word and splitter.words(word) == [word]
            for word in words
        )
    return len(text) <= vocabulary.longest_word and splitter.words(text) == [text]


def _carriers(vocabulary: Vocabulary, splitter: Splitter) -> tuple[str, ...]:
    """Beginnings made of letters and digits that no longer beginning starts with: the shortest
    ones, plain letters first.
    """
    starts = sorted(
        token for token in vocabulary.tokens if position(token, vocabulary) == "word start"
    )
    ends = (
        one
        for one, following in zip(starts, [*starts[1:], ""], strict=False)
        if not following.startswith(one)
    )
    kept = (token for token in ends if token.isalnum() and splitter.words(token) == [token])
    return tuple(
        sorted(kept, key=lambda token: (not token.isascii(), len(token), token))[:CARRIERS]
    )
