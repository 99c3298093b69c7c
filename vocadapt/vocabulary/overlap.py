"""Compare vocabularies: common tokens, lengths, positions, single characters, unreachable tokens.

The length of a token is counted without its continuation mark (##). Fractions are of the row's
vocabulary: BERT and PubMedBERT share 12,309 / 30,522 of BERT's tokens (Fast 2023, table 3.1).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vocadapt.progress import percent
from vocadapt.report.table import Column, Table
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.vocabulary import POSITIONS, Vocabulary

LISTED = 20  # unreachable tokens that are named


def count_common_tokens(vocabularies: Sequence[Vocabulary]) -> tuple[tuple[int, ...], ...]:
    """Count the common tokens of every pair of vocabularies, (n, n); tokens include their marks.

    The diagonal has the number of distinct tokens of each vocabulary.
    """
    sets = [set(vocabulary.tokens) for vocabulary in vocabularies]
    return tuple(tuple(len(one & other) for other in sets) for one in sets)


def compute_overlap(common: Sequence[Sequence[int]]) -> tuple[tuple[float, ...], ...]:
    """Return common tokens as a fraction of the row's vocabulary, (n, n)."""
    return tuple(tuple(count / row[i] for count in row) for i, row in enumerate(common))


@dataclass(frozen=True)
class Unreachable:
    """Tokens that the tokenizer never produces: [unusedN] among them, and the first others."""

    tokens: int
    unused: int
    first: tuple[str, ...]


@dataclass(frozen=True)
class VocabularyFigures:
    """Numbers of tokens of a vocabulary: all, by length (without special and unused ones), by
    position class, and those of one character that start a word or continue it.
    """

    model: str
    size: int
    lengths: Mapping[int, int]
    positions: Mapping[str, int]
    word_start: int
    continuation: int
    unreachable: Unreachable


@dataclass(frozen=True, eq=False)
class Profile:
    """Figures of a vocabulary.

    single, single_more: single characters that are word starts, and that are continuations.
    """

    figures: VocabularyFigures
    single: frozenset[str]
    single_more: frozenset[str]


def profile(vocabulary: Vocabulary, splitter: Splitter) -> Profile:
    """Compute the figures of a vocabulary; `splitter` splits a text into its words."""
    positions = {token: vocabulary.position(token) for token in vocabulary.tokens}
    counts = Counter(positions.values())
    bodies = [(position, vocabulary.body(token)) for token, position in positions.items()]
    single = frozenset(body for place, body in bodies if place == "word start" and len(body) == 1)
    more = frozenset(body for place, body in bodies if place == "continuation" and len(body) == 1)
    unreachable = vocabulary.find_unreachable(splitter)
    others = [token for token in unreachable if not vocabulary.is_placeholder(token)]
    unused = len(unreachable) - len(others)
    figures = VocabularyFigures(
        model="",
        size=len(vocabulary),
        lengths=count_lengths(vocabulary, vocabulary.tokens),
        positions={position: counts[position] for position in POSITIONS},
        word_start=len(single),
        continuation=len(more),
        unreachable=Unreachable(len(unreachable), unused, tuple(others[:LISTED])),
    )
    return Profile(figures, single, more)


def count_lengths(vocabulary: Vocabulary, tokens: Iterable[str]) -> dict[int, int]:
    """Count tokens by length, shortest first, without special and unused tokens."""
    counted = (token for token in tokens if vocabulary.position(token) not in ("special", "unused"))
    return dict(sorted(Counter(len(vocabulary.body(token)) for token in counted).items()))


@dataclass(frozen=True)
class VocabularyComparison:
    """Figures of each vocabulary, and what they have in common.

    common: common tokens of each pair; share: as a fraction of the row's vocabulary.
    lengths_common: lengths of the tokens of all. word_start_common, continuation_common: their
    single characters.
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
    common = count_common_tokens(vocabularies)
    first, *others = vocabularies
    shared = set(first.tokens).intersection(*(other.tokens for other in others))
    return VocabularyComparison(
        tuple(replace(one.figures, model=name) for name, one in zip(names, profiles, strict=True)),
        common,
        compute_overlap(common),
        count_lengths(first, shared),
        len(frozenset.intersection(*(one.single for one in profiles))),
        len(frozenset.intersection(*(one.single_more for one in profiles))),
    )
