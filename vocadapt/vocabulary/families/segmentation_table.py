"""Tokenize every distinct pre-token of a text by a Unigram model again after tokens were removed:
exactly, and fast, because only the words that change are split again, all together (`best_splits`).

If the best split of a word has no removed token, it remains the best: all other splits can only
become worse. There is one exception. An unknown character scores 10 less than the lowest of all
tokens, so it scores more if that token is removed; words with unknown characters are split again.

The tokens of a split become those of the tokenizers library: adjacent unknown characters are one
unknown token; with byte fallback, each is replaced by the tokens of its bytes.

Example: with the tokens a, b and ab, the word a☃☃ab is a <unk> ab. Without ab, it is a <unk> a b.

`tests/vocabulary/test_segmentation_table.py` compares this with the tokenizers library.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.vocabulary.families.best_splits import Matches, Pieces, Splits, find_best_splits
from vocadapt.vocabulary.families.prefix_trees import (
    PrefixTrees,
    WordPlaces,
    assign_places,
    build_prefix_trees,
    skip_removed,
)
from vocadapt.vocabulary.families.vocabulary import Ints, Mask, Tokenization, WordTable


@dataclass(frozen=True, eq=False)
class UnknownCharacters:
    """What becomes of a character without a token.

    token: id of the unknown token; None if the model has none.
    bytes: (256,) int64, id of the token of each byte, which take precedence over the unknown token;
        None if there is no byte fallback.
    """

    token: int | None
    bytes: Ints | None

    def check_removed(self, removed: Mask) -> None:
        """Raise ValueError if the unknown token or a byte is in `removed`, (V,) bool."""
        if self.token is not None and removed[self.token]:
            raise ValueError("The unknown token cannot be removed")
        if self.bytes is not None and removed[self.bytes].any():
            raise ValueError("The tokens of bytes cannot be removed")


@dataclass(frozen=True, eq=False)
class SegmentationTable(WordTable):
    """Distinct pre-tokens with their counts, and the tokens that match in them.

    counts: (words,) float64, occurrences of each pre-token.
    ids: id of each token that can match, by its text. trees: their prefix tree.
    pieces: their scores. rest: what becomes of other characters.
    texts: the pre-tokens. matches: the tokens that match in them.
    """

    ids: Mapping[str, int]
    trees: PrefixTrees
    pieces: Pieces
    rest: UnknownCharacters
    texts: WordPlaces
    matches: Matches

    @property
    def size(self) -> int:
        """V, the number of tokens of the vocabulary."""
        return self.pieces.size

    def tokenize(self, removed: Mask | None = None) -> Tokenization:
        """Tokenize every word without the tokens in `removed`, a mask over ids (V,).

        A word is unknown if it becomes the unknown token alone, or if it has an unknown character
        and the model has no unknown token. In all other words, the unknown token is a token.
        Raises ValueError if `removed` has the unknown token, or a byte of the byte fallback.
        """
        return self._convert(self._split(removed))

    def _split(self, removed: Mask | None) -> Splits:
        """Split every word without the tokens in `removed`, (V,) bool."""
        if removed is None or not removed.any():
            return self._splits
        self.rest.check_removed(removed)
        # 1. Split the words again that may change.
        is_changed = self._find_changed(removed)
        words = np.flatnonzero(is_changed)
        matches = self.matches.select(words)
        changed = find_best_splits(matches, self.pieces, removed)
        moved = (self.matches.starts[words] - matches.starts)[changed.words]
        # 2. Keep the splits of the others.
        before = self._splits
        is_kept = ~is_changed[before.words]
        return Splits(
            np.concatenate([before.tokens[is_kept], changed.tokens]),
            np.concatenate([before.words[is_kept], words[changed.words]]),
            np.concatenate([before.places[is_kept], changed.places + moved]),
        )

    def _find_changed(self, removed: Mask) -> Mask:
        """Return whether the best split of each word may change, (words,) bool."""
        # 1. Words with a removed token.
        is_changed = np.zeros(len(self.counts), dtype=np.bool_)
        is_gone = np.append(removed, False)[self._splits.tokens]
        is_changed[self._splits.words[is_gone]] = True
        # 2. Words with an unknown character, if it scores more than before.
        nothing = np.zeros(self.size, dtype=np.bool_)
        if self.pieces.score_unknown(removed) > self.pieces.score_unknown(nothing):
            match = skip_removed(self.pieces.shorter, removed)
            shortest = match
            while (is_long := self.pieces.length[shortest] > 1).any():
                shortest = np.where(is_long, match[self.pieces.shorter[shortest]], shortest)
            is_unknown = shortest[self.matches.longest] == self.size
            is_unknown[self.matches.ends] = False
            places = np.flatnonzero(is_unknown)
            words = np.searchsorted(self.matches.starts, places, side="right") - 1
            is_changed[words] = True
        return is_changed

    def _convert(self, splits: Splits) -> Tokenization:
        """Replace unknown characters by the tokens that stand for them."""
        n_words = len(self.counts)
        tokens, words, places = splits.tokens, splits.words, splits.places
        unknown = np.zeros(n_words, dtype=np.bool_)
        is_unknown = tokens == self.size
        if is_unknown.any():
            if self.rest.bytes is not None:
                tokens, words, places = self._spell_bytes(splits, self.rest.bytes)
            elif self.rest.token is not None:
                tokens, words, places = self._join_unknown(splits, self.rest.token)
                sizes = np.bincount(words, minlength=n_words)
                unknown[words] = (tokens == self.rest.token) & (sizes[words] == 1)
            else:
                unknown[words[is_unknown]] = True
        pieces = np.bincount(words, minlength=n_words)
        pieces[unknown] = 1
        is_known = ~unknown[words]
        return Tokenization(pieces, unknown, places[is_known], tokens[is_known], words[is_known])

    def _join_unknown(self, splits: Splits, token: int) -> tuple[Ints, Ints, Ints]:
        """Return tokens, words and places with one unknown token for adjacent unknown characters."""
        is_unknown = (splits.tokens == self.size) | (splits.tokens == token)
        follows_unknown = np.zeros(len(self.matches.longest), dtype=np.bool_)
        ends = splits.places + self.pieces.length[splits.tokens]
        follows_unknown[ends[is_unknown]] = True
        is_kept = ~(is_unknown & follows_unknown[splits.places])
        tokens = np.where(is_unknown, token, splits.tokens)
        return tokens[is_kept], splits.words[is_kept], splits.places[is_kept]

    def _spell_bytes(self, splits: Splits, ids: Ints) -> tuple[Ints, Ints, Ints]:
        """Return tokens, words and places with the bytes of each unknown character, at its place.

        ids: (256,) int64, id of the token of each byte.
        """
        is_unknown = splits.tokens == self.size
        characters = [self.texts.text[i] for i in splits.places[is_unknown].tolist()]
        encoded = [character.encode("utf-8", "surrogatepass") for character in characters]
        sizes = np.ones(len(splits.tokens), dtype=np.int64)
        sizes[is_unknown] = [len(one) for one in encoded]
        tokens = np.repeat(splits.tokens, sizes)
        tokens[tokens == self.size] = ids[np.frombuffer(b"".join(encoded), dtype=np.uint8)]
        return tokens, np.repeat(splits.words, sizes), np.repeat(splits.places, sizes)

    def compute_removal_costs(self, removed: Mask | None = None) -> NDArray[np.float64]:
        """Compute for each token how many more tokens the text has if that token is removed too,
        (V,) float64.

        An approximation: the text of the token is tokenized alone, without the token. Other splits
        of the whole word may be better, so costs are too high: with a real model on biomedical
        abstracts by a fifth in sum. A single character becomes unknown, which adds no token.

        Example: hypertension, 10 times in the text, costs 10 if hyper and tension are tokens.
        """
        alone, ids = self._tokens_alone
        costs = np.zeros(self.size)
        costs[ids] = alone.tokenize(removed).pieces - 1
        occurrences: NDArray[np.float64] = self.count_occurrences(self.tokenize(removed))
        return costs * occurrences

    @cached_property
    def _splits(self) -> Splits:
        """The best splits with the whole vocabulary."""
        nothing = np.zeros(self.size, dtype=np.bool_)
        return find_best_splits(self.matches, self.pieces, nothing)

    @cached_property
    def _tokens_alone(self) -> tuple["SegmentationTable", Ints]:
        """The texts of all tokens as words, each tokenized without the token itself; and their ids,
        (tokens,) int64.
        """
        texts = assign_places(list(self.ids))
        matches = find_matches(self.trees, texts)
        longest = matches.longest.copy()
        longest[texts.starts] = self.trees.shorter[longest[texts.starts]]
        matches = replace(matches, longest=longest)
        table = replace(self, counts=np.zeros(len(self.ids)), texts=texts, matches=matches)
        return table, np.array(list(self.ids.values()), dtype=np.int64)


def build_segmentation_table(
    pieces: Sequence[tuple[str, float]],
    counts: Mapping[str, float],
    continuations: Mapping[str, float] | None = None,
    unknown: int | None = None,
    byte_fallback: bool = False,
    size: int | None = None,
) -> SegmentationTable:
    """Build the table of some pre-tokens and their counts.

    pieces: text and score of each token of the model, by id; of two with the same text, the last
        one counts, as in the tokenizers library.
    continuations: texts that continue a word, which follow in the table.
    unknown: id of the unknown token; None if the model has none.
    byte_fallback: spell an unknown character by its bytes, <0xE2> and so on.
    size: number of all tokens, if others follow the pieces, such as added tokens.
    Raises ValueError if there is byte fallback, and a byte is not a token.
    """
    n_tokens = max(size or 0, len(pieces))
    ids = {piece: i for i, (piece, _) in enumerate(pieces)}
    trees = build_prefix_trees(n_tokens, {i: (0, piece) for piece, i in ids.items()}, n_trees=1)
    scores = np.full(n_tokens, np.nan)
    scores[: len(pieces)] = [score for _, score in pieces]
    length = trees.length.copy()
    length[n_tokens] = 1
    bytes_ = None
    if byte_fallback:
        names = [f"<0x{byte:02X}>" for byte in range(256)]
        missing = [name for name in names if name not in ids]
        if missing:
            raise ValueError(f"Byte fallback needs {missing[0]}, which is not a token")
        bytes_ = np.array([ids[name] for name in names])
    weights = [*counts.values(), *(continuations or {}).values()]
    texts = assign_places([*counts, *(continuations or {})])
    return SegmentationTable(
        np.array(weights, dtype=np.float64),
        ids,
        trees,
        Pieces(scores, trees.shorter, length),
        UnknownCharacters(unknown, bytes_),
        texts,
        find_matches(trees, texts),
    )


def find_matches(trees: PrefixTrees, texts: WordPlaces) -> Matches:
    """Find the tokens that match in some words."""
    letters = trees.encode(texts.text)
    longest = trees.find_longest(letters, np.zeros(len(letters), dtype=np.int64))
    return Matches(longest, texts.starts, texts.ends)
