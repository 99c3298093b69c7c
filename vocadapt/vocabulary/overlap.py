"""Compare vocabularies: common tokens, lengths, positions, single characters, unreachable tokens.

The length of a token is counted without its continuation mark (##). Fractions are of the row's
vocabulary: BERT and PubMedBERT share 12,309 / 30,522 of BERT's tokens (Fast 2023, table 3.1).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from vocadapt.spaces.projection.token_choice import UNUSED
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families.wordpiece import Vocabulary

POSITIONS = ("word start", "continuation", "whole word", "special", "unused")
CARRIERS = 8  # word starts that are tried before a continuation counts as unreachable


def body(token: str, vocabulary: Vocabulary) -> str:
    """Return the text of a token without its continuation mark: "##tension" → "tension"."""
    return (
        token.removeprefix(vocabulary.continuation)
        if position(token, vocabulary) == "continuation"
        else token
    )


def position(token: str, vocabulary: Vocabulary) -> str:
    """Return the position class of a token, one of POSITIONS; "##" alone is a word start."""
    if token in vocabulary.special or token == vocabulary.unknown:
        return "special"
    if token in vocabulary.whole:
        return "whole word"
    if UNUSED.fullmatch(token):
        return "unused"
    return "continuation" if vocabulary.continues(token) else "word start"


def length_of(token: str, vocabulary: Vocabulary) -> int:
    """Return the number of characters of a token without its continuation mark."""
    return len(body(token, vocabulary))


@dataclass(frozen=True, eq=False)
class Overlap:
    """Numbers of tokens that vocabularies have in common.

    common: (n, n); the diagonal has the number of distinct tokens of each vocabulary.
    """

    common: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of distinct tokens of each vocabulary."""
        return tuple(row[i] for i, row in enumerate(self.common))

    @property
    def share(self) -> tuple[tuple[float, ...], ...]:
        """Common tokens as a fraction of the row's vocabulary, (n, n)."""
        return tuple(
            tuple(count / size for count in row)
            for size, row in zip(self.sizes, self.common, strict=True)
        )


def measure_overlap(vocabularies: Sequence[Vocabulary]) -> Overlap:
    """Count the common tokens of every pair of vocabularies; tokens are compared with their marks."""
    sets = [set(vocabulary.tokens) for vocabulary in vocabularies]
    return Overlap(tuple(tuple(len(one & other) for other in sets) for one in sets))


def list_common_tokens(vocabularies: Sequence[Vocabulary]) -> tuple[str, ...]:
    """Return the tokens that all vocabularies have, by the ids of the first."""
    first, *others = vocabularies
    shared = set(first.tokens).intersection(*(other.tokens for other in others))
    return tuple(token for token in first.tokens if token in shared)


@dataclass(frozen=True, eq=False)
class Profile:
    """Statistics of a vocabulary.

    lengths: number of tokens by length, without special and unused ones.
    positions: number of tokens by position class (POSITIONS).
    single, single_more: single characters it has as word starts, and as continuations.
    unreachable: see `find_unreachable`.
    """

    tokens: tuple[str, ...]
    lengths: Mapping[int, int]
    positions: Mapping[str, int]
    single: frozenset[str]
    single_more: frozenset[str]
    unreachable: tuple[str, ...]

    @cached_property
    def unreachable_unused(self) -> int:
        """Number of the unreachable tokens that are placeholders such as [unused7]."""
        return sum(UNUSED.fullmatch(token) is not None for token in self.unreachable)


def profile(vocabulary: Vocabulary, splitter: Splitter) -> Profile:
    """Compute the statistics of a vocabulary; `splitter` splits a text into its words."""
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
    """Count tokens by length, shortest first, without special and unused tokens."""
    written = (
        token for token in tokens if position(token, vocabulary) not in ("special", "unused")
    )
    return dict(sorted(Counter(length_of(token, vocabulary) for token in written).items()))


def find_unreachable(
    vocabulary: Vocabulary, splitter: Splitter, tokens: Iterable[str] | None = None
) -> tuple[str, ...]:
    """Return the tokens that no text can produce, given normalizer, pre-tokenizer and longest match.

    tokens: the tokens to examine (None: all). Special tokens always count as reachable.

    - A word start is reachable if the splitter keeps it as one word.
    - A continuation is reachable if the splitter keeps a carrier followed by it as one word. A carrier
      is a word start that is no prefix of a longer one, so longest match takes it first; the rest is
      the continuation, and is taken as a whole.
    - A token longer than `longest_word` is never reachable.

    Example: "##oma" behind the carrier "tachy": tachyoma → tachy ##oma.
    """
    carriers = _find_carriers(vocabulary, splitter)
    examined = vocabulary.tokens if tokens is None else tokens
    return tuple(
        token for token in examined if not _is_reachable(token, vocabulary, splitter, carriers)
    )


def _is_reachable(
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


def _find_carriers(vocabulary: Vocabulary, splitter: Splitter) -> tuple[str, ...]:
    """Return up to CARRIERS word starts of letters and digits that no longer word start begins with:
    ASCII ones first, then the shortest.
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
