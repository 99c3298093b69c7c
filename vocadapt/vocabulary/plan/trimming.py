"""Trim a vocabulary to a text: keep the tokens of the text, and those that they are made from.

A trim keeps:
1. Special tokens, and added tokens that are matched before a text is split.
2. The single characters of the text, at the start of words and inside them, so that other words of
   these characters can be spelled; in byte-level BPE, all bytes. Other characters become unknown
   tokens or bytes, unless all characters are kept.
3. The most frequent tokens of the text, until they reach the coverage or the number of tokens.
4. The tokens that merges make these from.

A pre-token whose tokens are all kept is tokenized as before, in every family:
- WordPiece takes the longest token that matches. The longest one of the whole vocabulary is kept,
  so it is the longest one of the kept tokens, too.
- BPE applies the merge of the lowest rank. A kept token keeps all merges that make it, and their
  parts, so at each step the merge that was applied before is still the one of the lowest rank.
- Unigram takes the segmentation with the highest score. The best one of all is kept, so it is the
  best one of the segmentations that are left.

`measure_text` reports what changes if not all tokens of the text are kept.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.plan.trim_figures import (
    TextFigures,
    find_changed_words,
    find_unknown_words,
)
from vocadapt.vocabulary.vocabulary import FIXED, Mask, Tokenization, WordTable, sum_by_id

SINGLE = "single characters or bytes"
PARTS = "tokens that kept ones are made from"
FILLED = "other tokens, those with the lowest ids"


@dataclass(frozen=True, eq=False)
class TextTokens:
    """The tokens of a text.

    table, pretokens: its distinct pre-tokens, except those in lines with added tokens.
    tokenization: of the table, with the whole vocabulary.
    occurrences: (V,) float64, how often each token occurs in the text.
    unknown: number of running pre-tokens that are unknown and have no token of the vocabulary.
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
        """Number of running tokens of the text; an unknown pre-token counts as one."""
        return round(float(self.occurrences.sum())) + self.unknown

    def count_kept(self, is_kept: Mask) -> int:
        """Count the running tokens that are kept; the unknown token is always kept.

        is_kept: (V,) bool.
        """
        return round(float(self.occurrences[is_kept].sum())) + self.unknown


def tokenize_counts(
    vocabulary: Vocabulary, counts: Mapping[str, int], token_counts: Mapping[str, int]
) -> TextTokens:
    """Tokenize each distinct pre-token of a text once.

    counts: pre-tokens with their counts. token_counts: tokens with their counts, of the lines whose
    pre-tokens are not in `counts`. Raises InputError if the text has no token of the model.
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
            code="no-known-word",
        )
    n_unknown = round(float(table.counts[tokenization.unknown].sum()))
    return TextTokens(
        table, tuple(counts), tuple(token_counts), tokenization, occurrences, n_unknown
    )


@dataclass(frozen=True, eq=False)
class TokenChoice:
    """Selects the tokens that a trim keeps.

    fixed: tokens that are always kept, by reason.
    """

    vocabulary: Vocabulary
    text: TextTokens
    fixed: Mapping[str, frozenset[str]]

    @cached_property
    def ranked_tokens(self) -> tuple[str, ...]:
        """The tokens of the text, most frequent first, ties by id."""
        order = np.argsort(-self.text.occurrences, kind="stable")
        n_used = np.count_nonzero(self.text.occurrences)
        return tuple(self.vocabulary.tokens[i] for i in order[:n_used])

    @cached_property
    def fixed_tokens(self) -> frozenset[str]:
        """The tokens that are always kept."""
        return frozenset[str]().union(*self.fixed.values())

    def close(self, tokens: Collection[str]) -> frozenset[str]:
        """Return the tokens that are always kept, these, and those that they are made from."""
        return self.fixed_tokens.union(tokens, self.vocabulary.find_parts(tokens))

    def cover(self, fraction: float) -> frozenset[str]:
        """Return the fewest tokens that cover a fraction of the text, most frequent first."""
        needed = fraction * self.text.total

        def covers(n_first: int) -> bool:
            kept = self.close(self.ranked_tokens[:n_first])
            return self.text.count_kept(mark_tokens(self.vocabulary, kept)) >= needed

        # Coverage grows with the number of tokens: find the smallest that suffices by bisection.
        low = 0
        high = len(self.ranked_tokens)
        while low < high:
            middle = (low + high) // 2
            if covers(middle):
                high = middle
            else:
                low = middle + 1
        return self.close(self.ranked_tokens[:low])

    def keep(self, size: int) -> frozenset[str]:
        """Return exactly `size` tokens: those of the text, most frequent first, then others by id.

        Raises InputError if more tokens are always kept, or if the vocabulary has fewer tokens.
        """
        self._check_size(size)
        ranked = tuple(dict.fromkeys((*self.ranked_tokens, *self.vocabulary.tokens)))
        # 1. Find the largest number of tokens that fit with those that they are made from.
        low = 0
        high = len(ranked)
        while low < high:
            middle = (low + high + 1) // 2
            if len(self.close(ranked[:middle])) <= size:
                low = middle
            else:
                high = middle - 1
        kept = self.close(ranked[:low])
        # 2. The next token does not fit with its parts: fill up with its shortest parts.
        if len(kept) < size:
            lacking = self.close(ranked[: low + 1]) - kept
            kept |= set(sorted(lacking, key=lambda token: (len(token), token))[: size - len(kept)])
        return kept

    def count_unused(self, kept: frozenset[str]) -> dict[str, int]:
        """Count the kept tokens that the text does not contain, by the reason why they are kept."""
        unused = kept.difference(self.ranked_tokens)
        stay = {reason: len(tokens & unused) for reason, tokens in self.fixed.items()}
        needed = self.vocabulary.find_parts(kept.intersection(self.ranked_tokens))
        more = unused - self.fixed_tokens
        stay[PARTS] += len(more & needed)
        stay[FILLED] = len(more - needed)
        return {reason: count for reason, count in stay.items() if count}

    def _check_size(self, size: int) -> None:
        if size > len(self.vocabulary):
            raise InputError(
                f"{size:,} tokens cannot be kept: the model has {len(self.vocabulary):,}.",
                "Keep fewer tokens.",
                "keep",
                code="too-many-tokens",
            )
        if size < len(self.fixed_tokens):
            why = ", ".join(
                f"{len(tokens):,} {reason}" for reason, tokens in self.fixed.items() if tokens
            )
            raise InputError(
                f"{size:,} tokens cannot be kept: {len(self.fixed_tokens):,} must stay ({why}).",
                f"Keep {len(self.fixed_tokens):,} or more.",
                "keep",
                code="too-few-tokens",
            )


def mark_tokens(vocabulary: Vocabulary, tokens: Collection[str]) -> Mask:
    """Return whether each token of a vocabulary is among these, (V,) bool."""
    marked = np.zeros(len(vocabulary), dtype=np.bool_)
    marked[[vocabulary.ids[token] for token in tokens]] = True
    return marked


def group_fixed_tokens(
    vocabulary: Vocabulary, characters: Collection[str] | None
) -> dict[str, frozenset[str]]:
    """Return the tokens that a trim never removes, by the first reason that applies.

    characters: characters whose tokens are kept; None for all, with every token that contains a
        character without a token.
    """
    # 1. Single characters.
    fixed = vocabulary.fixed_tokens
    single = set(vocabulary.find_single_characters(characters))
    if characters is None:
        single |= set(filter(vocabulary.is_irreplaceable, vocabulary.tokens))
    single -= fixed
    # 2. The tokens that both are made from.
    parts = vocabulary.find_parts(fixed | single) - fixed - single
    return {FIXED: fixed, SINGLE: frozenset(single), PARTS: frozenset(parts)}


def select_trim(
    vocabulary: Vocabulary, text: TextTokens, cover: float, size: int, keeps_characters: bool
) -> tuple[TokenChoice, frozenset[str]]:
    """Return how tokens are chosen by a text, and the tokens that a trim keeps.

    cover: fraction of the running tokens to keep. size: number of tokens to keep if `cover` is 0.
    keeps_characters: keep the single characters of all texts, not only those of this text.
    """
    characters = None
    if not keeps_characters:
        characters = frozenset("").union(*text.pretokens, *text.added_lines)
    choice = TokenChoice(vocabulary, text, group_fixed_tokens(vocabulary, characters))
    return choice, choice.cover(cover) if cover else choice.keep(size)


def measure_text(
    vocabulary: Vocabulary, text: TextTokens, kept: Collection[str]
) -> tuple[TextFigures, frozenset[str]]:
    """Measure how much of a text the kept tokens keep; also return the pre-tokens that change."""
    # 1. Tokenize the text without the removed tokens, and compare.
    is_kept = mark_tokens(vocabulary, kept)
    before = text.tokenization
    after = text.table.tokenize(~is_kept)
    is_changed = find_changed_words(before, after)
    # 2. Add up the occurrences.
    unknown = vocabulary.role_ids.get("unk")
    counts = text.table.counts
    n_kept = text.count_kept(is_kept)
    n_pretokens = round(float(counts.sum()))
    n_changed = round(float(counts[is_changed].sum()))
    figures = TextFigures(
        coverage=n_kept / text.total,
        changed_pretokens_fraction=n_changed / max(n_pretokens, 1),
        tokens=text.total,
        kept_tokens=n_kept,
        tokens_after=text.total + round(float(counts @ (after.pieces - before.pieces))),
        pretokens=n_pretokens,
        changed_pretokens=n_changed,
        distinct=len(counts),
        distinct_changed=int(np.count_nonzero(is_changed)),
        unknown_before=round(float(counts[find_unknown_words(before, unknown)].sum())),
        unknown_after=round(float(counts[find_unknown_words(after, unknown)].sum())),
    )
    return figures, frozenset(text.pretokens[i] for i in np.flatnonzero(is_changed))
