"""Tokenize every distinct pre-token of a text by byte-pair encoding (BPE) again after tokens were
removed: exactly, and fast, because only the words that change are merged again, all together.

Without a token, the merges that make it cannot be applied. A word that was tokenized without any of
these merges stays as it is. Any other word is resumed before the first of them (`merge_rounds`).

Example: the merges are (t, e), (n, s), (te, n), (te, ns), and tens was made in three rounds:
te n s, te ns, tens. Without tens, the word is te ns. Without ns and tens, it is resumed with
te n s, and becomes ten s.

*Closed sets.* If a token is removed, so must be every token that a merge makes from it; otherwise
tokens would be kept that no text can contain, and a study would report a vocabulary as larger than
it is. `leaf_pruning` computes an order of removal of which every prefix is closed;
`MergeTable.close` adds the tokens that a set lacks.

*Exact words.* With `ignore_merges`, a pre-token that is an entry of the vocabulary is one token,
whether merges make it or not.

`tests/vocabulary/test_merge_table.py` compares this with the tokenizers library.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.vocabulary.families.files.tokenizer_checks import BYTE_TOKENS
from vocadapt.vocabulary.families.tables.merge_rounds import (
    MergeHistory,
    MergeLog,
    Merges,
    Symbols,
    build_merges,
    merge_words,
    record_merges,
    sort_distinct,
)
from vocadapt.vocabulary.families.tables.prefix_trees import encode_code_points
from vocadapt.vocabulary.vocabulary import (
    Ints,
    Mask,
    Tokenization,
    WordTable,
    sum_by_id,
)

N_CODE_POINTS = 0x110000
UTF8_SIZES = (0x80, 0x800, 0x10000)  # first code points of two, three and four bytes


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The symbols of characters: the tokens of a pre-token before any merge.

    symbols: (code points,) int64, id of the token of each character, or -1.
    bytes: (256,) int64, id of the token of each byte, for characters without a token; None if the
        vocabulary has no byte fallback.
    unknown: id of the unknown token; None to leave out characters without a token, as the
        tokenizers library does.
    """

    symbols: Ints
    bytes: Ints | None
    unknown: int | None

    def encode(self, texts: Sequence[str]) -> Symbols:
        """Return the symbols of texts; their places are 0, 1, 2, …"""
        joined = "".join(texts)
        codes = encode_code_points(joined)
        words = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        tokens = self.symbols[codes]
        missing = tokens < 0
        if self.bytes is not None:
            # 1. Replace a character without a token by the tokens of its bytes.
            sizes = np.ones(len(codes), dtype=np.int64)
            sizes[missing] += np.searchsorted(UTF8_SIZES, codes[missing], side="right")
            tokens = np.repeat(tokens, sizes)
            words = np.repeat(words, sizes)
            rest = "".join(joined[i] for i in np.flatnonzero(missing).tolist())
            encoded = np.frombuffer(rest.encode("utf-8", "surrogatepass"), dtype=np.uint8)
            tokens[tokens < 0] = self.bytes[encoded]
        elif self.unknown is not None:
            # 2. Without byte fallback, replace it by the unknown token.
            tokens[missing] = self.unknown
        else:
            # 3. Without either, leave it out.
            tokens = tokens[~missing]
            words = words[~missing]
        return Symbols(tokens, words, np.arange(len(tokens)))


@dataclass(frozen=True, eq=False)
class MergeTable(WordTable):
    """Distinct pre-tokens with their counts, and their merges with the whole vocabulary.

    V is the size of the vocabulary; as a token id it means "no token".

    counts: (words,) float64, occurrences of each pre-token.
    ids: id of each token. merges: its merges.
    alphabet: its single characters.
    history: the tokens of all words in every round.
    whole: (words,) int64, id of the token that is looked up before merging, or V.
    """

    ids: Mapping[str, int]
    merges: Merges
    alphabet: Alphabet
    history: MergeHistory
    whole: Ints

    @property
    def size(self) -> int:
        """V, the number of tokens of the vocabulary."""
        return self.merges.size

    def close(self, removed: Mask) -> Mask:
        """Add every token that a merge makes from a removed one, (V,) bool."""
        closed = removed.copy()
        while True:
            needs_removed = closed[self.merges.left] | closed[self.merges.right]
            added = self.merges.products[needs_removed]
            if closed[added].all():
                return closed
            closed[added] = True

    def tokenize(self, removed: Mask | None = None) -> Tokenization:
        """Tokenize every word without the tokens in `removed`, a mask over ids (V,).

        `removed` is closed, and contains no single character or byte.
        """
        if removed is None:
            removed = np.zeros(self.size, dtype=np.bool_)
        return self._tokenize(removed, self._find_whole(removed))

    def _find_whole(self, removed: Mask) -> Mask:
        """Return whether each word is one token that is looked up, (words,) bool."""
        return ~np.append(removed, True)[self.whole]

    def _tokenize(self, removed: Mask, is_whole: Mask) -> Tokenization:
        """Tokenize every word without some tokens; the words in `is_whole` are looked up."""
        # 1. Find the words that have a removed token.
        merged = self.history.final
        is_changed = np.zeros(len(self.counts), dtype=np.bool_)
        is_changed[merged.words[removed[merged.tokens]]] = True
        is_changed &= ~is_whole
        # 2. Resume them before the first removed token.
        resumed = self.history.resume(np.flatnonzero(is_changed), removed)
        resumed = merge_words(resumed, self.merges, self.merges.rank_without(removed))
        # 3. Collect the tokens of all words.
        unchanged = merged.select(~(is_changed | is_whole)[merged.words])
        looked_up = np.flatnonzero(is_whole)
        tokens = np.concatenate([self.whole[looked_up], unchanged.tokens, resumed.tokens])
        words = np.concatenate([looked_up, unchanged.words, resumed.words])
        places = np.concatenate([self._starts[looked_up], unchanged.places, resumed.places])
        return Tokenization(
            np.bincount(words, minlength=len(self.counts)),
            np.zeros(len(self.counts), dtype=np.bool_),
            places,
            tokens,
            words,
        )

    def compute_removal_costs(self, removed: Mask | None = None) -> NDArray[np.float64]:
        """Compute for each token how many more tokens the text has if that token is removed too,
        with all tokens that are made from it, (V,) float64.

        removed: (V,) bool; tokens that are made from these count as removed.

        Every merge makes the text one token shorter. Without a token, neither its merges nor those
        of the tokens made from it can be applied, so its cost is how often they are applied to the
        text. A token never costs less than one that is made from it. The cost is exact for an exact
        word that no merge makes; for others, merges that become possible instead are not counted:
        with GPT-2's merges on biomedical abstracts, the costs of leaves are 1 % too high in sum,
        those of tokens from which others are made 1.7 times too high.

        Example: hypertension, 10 times in the text, is made from hyper and tension, and tension is
        also a word, 5 times: hypertension costs 10, and tension 15 (with the merges inside it).
        """
        closed = np.zeros(self.size, dtype=np.bool_)
        if removed is not None:
            closed = self.close(removed)
        is_whole = self._find_whole(closed)
        counts = self.count_occurrences(self._tokenize(closed, is_whole))
        # 1. Count how often the text makes each token: alone, and as a part of others.
        left, right = self._last_parts
        is_merged = left < self.size
        made = np.where(is_merged, counts, 0.0)
        for tokens in self._tokens_by_length:
            made += sum_by_id(left[tokens], made[tokens], self.size)
            made += sum_by_id(right[tokens], made[tokens], self.size)
        made[~is_merged] = 0
        # 2. Add the merges of all tokens that are made from it.
        parts, products = self.merges.dependents
        costs = made + sum_by_id(parts, made[products], self.size)
        # 3. Exact words that no merge makes are tokenized without their entry.
        is_entry = is_whole & ~np.append(is_merged, True)[self.whole]
        if is_entry.any():
            pieces = self._tokenize(closed, is_whole & ~is_entry).pieces[is_entry]
            costs += sum_by_id(
                self.whole[is_entry], self.counts[is_entry] * (pieces - 1), self.size
            )
        return costs

    @cached_property
    def _starts(self) -> Ints:
        """Place of the first symbol of each word, (words,) int64."""
        first_nodes = self.history.firsts[:-1]
        return np.append(self.history.places, 0)[first_nodes]

    @cached_property
    def _last_parts(self) -> tuple[Ints, Ints]:
        """The two parts of the last merge that makes each token from its own text, two (V,) int64;
        V for tokens that merges do not make.
        """
        made = sort_distinct(self.merges.products)
        text_of = {i: token for token, i in self.ids.items()}
        symbols = self.alphabet.encode([text_of[i] for i in made.tolist()])
        log = MergeLog()
        merge_words(symbols, self.merges, self.merges.ranks, log)
        last = np.full(len(made), len(self.merges.keys))
        for words, merges in zip(log.words, log.merges, strict=True):
            last[words] = merges
        is_complete = np.append(self.merges.products, self.size)[last] == made
        left = np.full(self.size, self.size)
        right = np.full(self.size, self.size)
        left[made[is_complete]] = self.merges.left[last[is_complete]]
        right[made[is_complete]] = self.merges.right[last[is_complete]]
        return left, right

    @cached_property
    def _tokens_by_length(self) -> list[Ints]:
        """The tokens that merges make, grouped by their length, longest first."""
        left, _ = self._last_parts
        lengths = np.zeros(self.size, dtype=np.int64)
        lengths[list(self.ids.values())] = [len(token) for token in self.ids]
        lengths[left == self.size] = 0
        order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
        return np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1)


def build_merge_table(
    ids: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
    counts: Mapping[str, float],
    ignore_merges: bool = False,
    byte_fallback: bool = False,
    unknown: int | None = None,
) -> MergeTable:
    """Build the table of pre-tokens and their counts.

    ids: id of each token. merges: pairs of tokens by rank.
    ignore_merges: look up a whole pre-token before it is merged.
    byte_fallback: spell a character without a token by its bytes, <0xE2> and so on.
    unknown: id of the token for other characters without a token; None to leave them out, as the
        tokenizers library does.
    """
    size = max(ids.values(), default=-1) + 1
    alphabet = _build_alphabet(ids, byte_fallback, unknown)
    pair_merges = build_merges(ids, merges)
    whole = np.full(len(counts), size)
    if ignore_merges:
        whole[:] = [ids.get(word, size) for word in counts]
    return MergeTable(
        np.array(list(counts.values()), dtype=np.float64),
        ids,
        pair_merges,
        alphabet,
        record_merges(alphabet.encode(list(counts)), len(counts), pair_merges),
        whole,
    )


def _build_alphabet(ids: Mapping[str, int], byte_fallback: bool, unknown: int | None) -> Alphabet:
    symbols = np.full(N_CODE_POINTS, -1)
    for token, i in ids.items():
        if len(token) == 1:
            symbols[ord(token)] = i
    byte_ids = np.array([ids[token] for token in BYTE_TOKENS]) if byte_fallback else None
    return Alphabet(symbols, byte_ids, unknown)
