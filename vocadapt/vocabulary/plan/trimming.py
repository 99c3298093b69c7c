"""Trim a vocabulary to a text: keep the tokens of the text, and those that they are made from.

Which tokens a trim keeps:
1. Special tokens, and added tokens that are matched before a text is split.
2. The single characters of the text, at the start of words and inside them, so that other words of
   these characters can be spelled; in byte-level BPE, all bytes. Other characters become unknown
   tokens or bytes, unless all characters are kept.
3. The most frequent tokens of the text, until they cover it, or until there are enough tokens.
4. The tokens that merges make these from.

A pre-token whose tokens are all kept is tokenized as before, in every family:
- WordPiece takes the longest token that matches. The longest one of the whole vocabulary is kept, so
  it is the longest one of the kept tokens, too.
- BPE applies the merge of the lowest rank. A kept token keeps all merges that make it, and their
  parts, so at each step the merge that was applied before is still the one of the lowest rank.
- Unigram takes the segmentation with the highest score. The best one of all is kept, so it is the
  best one of the segmentations that are left.

`TrimFigures` reports what changes if not all tokens of the text are kept.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.families.vocabulary import Mask, Tokenization, WordTable, sum_by_id
from vocadapt.vocabulary.plan.trim_figures import (
    TrimFigures,
    find_changed_words,
    find_unknown_words,
)

SPECIAL = "special and added tokens"
SINGLE = "single characters or bytes"
PARTS = "tokens that kept ones are made from"
FILLED = "tokens by id, because the text has no others"


@dataclass(frozen=True, eq=False)
class TextTokens:
    """The tokens of a text.

    table: its distinct pre-tokens, but for those in lines with added tokens, tokenized as in
        `tokenization`.
    occurrences: (V,) float64, how often each token occurs in the text.
    unknown: number of unknown pre-tokens, which are no token of the vocabulary.
    added_lines: the distinct tokens of the lines with added tokens.
    """

    table: WordTable
    pretokens: tuple[str, ...]
    added_lines: tuple[str, ...]
    tokenization: Tokenization
    occurrences: NDArray[np.float64]
    unknown: int

    @property
    def total(self) -> int:
        """Running tokens of the text; an unknown pre-token is one."""
        return round(float(self.occurrences.sum())) + self.unknown

    def count_kept(self, is_kept: Mask) -> int:
        """Count the running tokens that are kept; the unknown token always is."""
        return round(float(self.occurrences[is_kept].sum())) + self.unknown


def tokenize_text(
    vocabulary: Vocabulary, counts: Mapping[str, int], token_counts: Mapping[str, int]
) -> TextTokens:
    """Tokenize each distinct pre-token of a text once.

    counts: pre-tokens; token_counts: tokens of the lines whose pre-tokens are not in `counts`.
    Raises InputError if the text has no token of the model.
    """
    table = vocabulary.build_word_table(counts)
    tokenization = table.tokenize()
    ids = np.array([vocabulary.ids[token] for token in token_counts], dtype=np.int64)
    weights = np.array(list(token_counts.values()), dtype=np.float64)
    size = len(vocabulary)
    occurrences = table.count_occurrences(tokenization) + sum_by_id(ids, weights, size)
    unknown = vocabulary.role_ids.get("unk")
    known = occurrences.sum() - (occurrences[unknown] if unknown is not None else 0)
    if not known:
        raise InputError(
            f"The model knows none of the {len(counts):,} distinct words of the text.",
            "Give a text in a language and a script that the model knows.",
        )
    n_unknown = round(float(table.counts[tokenization.unknown].sum()))
    return TextTokens(
        table, tuple(counts), tuple(token_counts), tokenization, occurrences, n_unknown
    )


@dataclass(frozen=True, eq=False)
class TokenChoice:
    """Chooses the tokens that a trim keeps.

    fixed: tokens that always stay, by reason.
    """

    vocabulary: Vocabulary
    text: TextTokens
    fixed: Mapping[str, frozenset[str]]

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The tokens of the text, most frequent first, ties by id."""
        order = np.argsort(-self.text.occurrences, kind="stable")
        n_used = np.count_nonzero(self.text.occurrences)
        return tuple(self.vocabulary.tokens[i] for i in order[:n_used])

    @cached_property
    def always(self) -> frozenset[str]:
        """The tokens that always stay."""
        return frozenset[str]().union(*self.fixed.values())

    def close(self, tokens: Collection[str]) -> frozenset[str]:
        """Return the tokens that always stay, some others, and those that these are made from."""
        return self.always.union(tokens, self.vocabulary.find_parts(tokens))

    def mark(self, tokens: Collection[str]) -> Mask:
        """Return whether each token is among some, by id, (V,) bool."""
        marked = np.zeros(len(self.vocabulary), dtype=np.bool_)
        marked[[self.vocabulary.ids[token] for token in tokens]] = True
        return marked

    def cover(self, fraction: float) -> frozenset[str]:
        """Return the smallest set that covers a fraction of the running tokens, most frequent first."""
        needed = fraction * self.text.total

        def covers(n_first: int) -> bool:
            kept = self.mark(self.close(self.ranked[:n_first]))
            return self.text.count_kept(kept) >= needed

        # Coverage grows with the number of tokens: search the smallest one that suffices.
        low, high = 0, len(self.ranked)
        while low < high:
            middle = (low + high) // 2
            if covers(middle):
                high = middle
            else:
                low = middle + 1
        return self.close(self.ranked[:low])

    def keep(self, size: int) -> frozenset[str]:
        """Return exactly `size` tokens; after those of the text, others by id.

        Raises InputError for fewer than always stay, and for more than there are.
        """
        self._check_size(size)
        ranked = tuple(dict.fromkeys((*self.ranked, *self.vocabulary.tokens)))
        # 1. The largest number of tokens that fit, with those that they are made from.
        low, high = 0, len(ranked)
        while low < high:
            middle = (low + high + 1) // 2
            if len(self.close(ranked[:middle])) <= size:
                low = middle
            else:
                high = middle - 1
        kept = self.close(ranked[:low])
        # 2. The next one does not fit with its parts: take some parts, the shortest first.
        if len(kept) < size:
            lacking = self.close(ranked[: low + 1]) - kept
            kept |= set(sorted(lacking, key=lambda token: (len(token), token))[: size - len(kept)])
        return kept

    def _check_size(self, size: int) -> None:
        if size > len(self.vocabulary):
            raise InputError(
                f"{size:,} tokens cannot be kept: the model has {len(self.vocabulary):,}.",
                "Keep fewer tokens.",
                "keep",
            )
        if size < len(self.always):
            why = ", ".join(
                f"{len(tokens):,} {reason}" for reason, tokens in self.fixed.items() if tokens
            )
            raise InputError(
                f"{size:,} tokens cannot be kept: {len(self.always):,} must stay ({why}).",
                f"Keep {len(self.always):,} or more.",
                "keep",
            )


def group_fixed_tokens(
    vocabulary: Vocabulary, splitter: Splitter, characters: Collection[str] | None
) -> dict[str, frozenset[str]]:
    """Return the tokens that a trim never removes, by reason; each has the first that applies.

    characters: those whose tokens stay; None for all, with the tokens that alone spell one.
    """
    # 1. Special tokens, and added ones that no pre-token shows.
    special = {*vocabulary.special, *vocabulary.roles.values()}
    special |= {
        token
        for token in vocabulary.whole
        if vocabulary.explain_unreachable(token, splitter, exact=True) is not None
    }
    special &= vocabulary.ids.keys()
    # 2. Single characters.
    single = set(vocabulary.find_single_characters(characters))
    if characters is None:
        single |= set(filter(vocabulary.is_irreplaceable, vocabulary.tokens))
    single -= special
    # 3. What both are made from.
    parts = vocabulary.find_parts(special | single) - special - single
    return {SPECIAL: frozenset(special), SINGLE: frozenset(single), PARTS: frozenset(parts)}


def select_trim(
    vocabulary: Vocabulary,
    splitter: Splitter,
    text: TextTokens,
    cover: float,
    size: int,
    keeps_characters: bool,
) -> tuple[tuple[str, ...], TrimFigures]:
    """Return the tokens that a trim keeps, by old id, and what they keep of the text.

    cover: fraction of the running tokens to keep; if it is 0, size: number of tokens to keep.
    keeps_characters: keep the single characters of all texts, not only those of this text.
    """
    characters = None
    if not keeps_characters:
        characters = frozenset("").union(*text.pretokens, *text.added_lines)
    fixed = group_fixed_tokens(vocabulary, splitter, characters)
    choice = TokenChoice(vocabulary, text, fixed)
    kept = choice.cover(cover) if cover else choice.keep(size)
    order = tuple(token for token in vocabulary.tokens if token in kept)
    return order, measure_trim(choice, kept)


def measure_trim(choice: TokenChoice, kept: frozenset[str]) -> TrimFigures:
    """Measure what some tokens keep of a text."""
    # 1. Tokenize the text without the others, and compare.
    text, is_kept = choice.text, choice.mark(kept)
    before = text.tokenization
    after = text.table.tokenize(~is_kept)
    is_changed = find_changed_words(before, after)
    unknown = choice.vocabulary.role_ids.get("unk")
    counts = text.table.counts
    # 2. Why tokens stay that the text does not have.
    unused = kept.difference(choice.ranked)
    stay = {reason: len(tokens & unused) for reason, tokens in choice.fixed.items()}
    needed = choice.vocabulary.find_parts(kept.intersection(choice.ranked))
    more = unused - choice.always
    stay[PARTS] += len(more & needed)
    stay[FILLED] = len(more - needed)
    return TrimFigures(
        tokens=text.total,
        kept_tokens=text.count_kept(is_kept),
        pretokens=round(float(counts.sum())),
        changed_pretokens=round(float(counts[is_changed].sum())),
        distinct=len(counts),
        distinct_changed=int(np.count_nonzero(is_changed)),
        unknown_before=round(float(counts[find_unknown_words(before, unknown)].sum())),
        unknown_after=round(float(counts[find_unknown_words(after, unknown)].sum())),
        stay={reason: count for reason, count in stay.items() if count},
        changed=frozenset(text.pretokens[i] for i in np.flatnonzero(is_changed)),
    )
