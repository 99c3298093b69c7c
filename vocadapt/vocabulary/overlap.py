"""Compare vocabularies: common tokens, lengths, positions, single characters, unreachable tokens.

The length of a token is counted without its continuation mark (##). Fractions are of the row's
vocabulary: BERT and PubMedBERT share 12,309 / 30,522 of BERT's tokens (Fast 2023, table 3.1).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vocadapt.progress import percent
from vocadapt.report.table import Column, Table
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.vocabulary import POSITIONS, Vocabulary

LISTED = 20  # unreachable tokens that are named


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
    """Count the common tokens of every pair of vocabularies; tokens include their marks."""
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
    single, single_more: single characters that are word starts, and that are continuations.
    unreachable: tokens that no text can produce.
    unreachable_others: unreachable tokens other than placeholders such as [unused7].
    """

    tokens: tuple[str, ...]
    lengths: Mapping[int, int]
    positions: Mapping[str, int]
    single: frozenset[str]
    single_more: frozenset[str]
    unreachable: tuple[str, ...]
    unreachable_others: tuple[str, ...]

    @property
    def unreachable_unused(self) -> int:
        """Number of unreachable tokens that are placeholders."""
        return len(self.unreachable) - len(self.unreachable_others)


def profile(vocabulary: Vocabulary, splitter: Splitter) -> Profile:
    """Compute the statistics of a vocabulary; `splitter` splits a text into its words."""
    positions = {token: vocabulary.position(token) for token in vocabulary.tokens}
    position_counts = Counter(positions.values())
    unreachable = vocabulary.find_unreachable(splitter)
    others = [token for token in unreachable if not vocabulary.is_placeholder(token)]
    bodies = [(position, vocabulary.body(token)) for token, position in positions.items()]
    return Profile(
        vocabulary.tokens,
        count_lengths(vocabulary, vocabulary.tokens),
        {position: position_counts[position] for position in POSITIONS},
        frozenset(body for place, body in bodies if place == "word start" and len(body) == 1),
        frozenset(body for place, body in bodies if place == "continuation" and len(body) == 1),
        unreachable,
        tuple(others),
    )


def count_lengths(vocabulary: Vocabulary, tokens: Iterable[str]) -> dict[int, int]:
    """Count tokens by length, shortest first, without special and unused tokens."""
    counted = (token for token in tokens if vocabulary.position(token) not in ("special", "unused"))
    return dict(sorted(Counter(len(vocabulary.body(token)) for token in counted).items()))


@dataclass(frozen=True)
class Unreachable:
    """Tokens that the tokenizer never produces: [unusedN] among them, and the first others."""

    tokens: int
    unused: int
    first: tuple[str, ...]


@dataclass(frozen=True)
class VocabularyFigures:
    """Numbers of tokens of a vocabulary: all, by length, by position in a word, and those of one
    character that start a word or continue it.
    """

    model: str
    size: int
    lengths: Mapping[int, int]
    positions: Mapping[str, int]
    word_start: int
    continuation: int
    unreachable: Unreachable


@dataclass(frozen=True)
class VocabularyComparison:
    """Figures of each vocabulary, and what they have in common.

    common: common tokens of each pair; share: as a fraction of the row's vocabulary.
    lengths_common:
    lengths of the tokens of all. word_start_common, continuation_common: their single characters.
    """

    vocabularies: tuple[VocabularyFigures, ...]
    common: tuple[tuple[int, ...], ...]
    share: tuple[tuple[float, ...], ...]
    lengths_common: Mapping[int, int]
    word_start_common: int
    continuation_common: int

    def build_overlap_table(self) -> Table:
        """Return the common tokens of each pair of vocabularies, and their fraction."""
        names = [one.model for one in self.vocabularies]
        columns = [Column(name, f"also in {name}", format="number") for name in names]
        rows = []
        for name, fractions, counts in zip(names, self.share, self.common, strict=True):
            pairs = zip(names, fractions, counts, strict=True)
            cells = {other: f"{percent(share)} · {count:,}" for other, share, count in pairs}
            rows.append({"": name, **cells})
        return Table("Tokens in common", (Column("", "Tokens of"), *columns), rows)

    def build_figures_table(self) -> Table:
        """Return the numbers of tokens of each vocabulary, without positions that none has."""
        places = [
            place for place in POSITIONS if any(one.positions[place] for one in self.vocabularies)
        ]
        columns = (
            Column("model", "Vocabulary"),
            Column("size", "Tokens", format="number"),
            *(Column(place, place.capitalize(), format="number") for place in places),
            Column(
                "single",
                "Single characters",
                "Tokens of one character that start a word.",
                "number",
            ),
            Column("more", "As continuations", "Those that continue a word.", "number"),
            Column("never", "Unreachable", "Tokens that no text can produce.", "number"),
        )
        rows = [
            {
                "model": one.model,
                "size": one.size,
                **one.positions,
                "single": one.word_start,
                "more": one.continuation,
                "never": one.unreachable.tokens,
            }
            for one in self.vocabularies
        ]
        return Table("", columns, rows)


def compare_vocabularies(
    names: Sequence[str], vocabularies: Sequence[Vocabulary], profiles: Sequence[Profile]
) -> VocabularyComparison:
    """Compare vocabularies by their profiles."""
    overlap = measure_overlap(vocabularies)
    figures = tuple(
        VocabularyFigures(
            name,
            len(one.tokens),
            one.lengths,
            one.positions,
            len(one.single),
            len(one.single_more),
            Unreachable(
                len(one.unreachable), one.unreachable_unused, one.unreachable_others[:LISTED]
            ),
        )
        for name, one in zip(names, profiles, strict=True)
    )
    return VocabularyComparison(
        figures,
        overlap.common,
        overlap.share,
        count_lengths(vocabularies[0], list_common_tokens(vocabularies)),
        len(frozenset.intersection(*(one.single for one in profiles))),
        len(frozenset.intersection(*(one.single_more for one in profiles))),
    )
