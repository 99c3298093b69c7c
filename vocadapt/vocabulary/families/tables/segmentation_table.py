"""Tokenize every distinct pre-token of a text by a Unigram model again after tokens were removed:
exactly, and fast, because only what changes is segmented again, all together
(`best_segmentations`).

Unknown characters become tokens as in the tokenizers library: adjacent ones are one unknown token;
with byte fallback, each is replaced by the tokens of its bytes.

Example: with the tokens a, b and ab, the word a☃☃ab is a <unk> ab. Without ab, it is a <unk> a b.

`tests/vocabulary/test_segmentation_table.py` compares this with the tokenizers library.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.vocabulary.families.files.tokenizer_checks import BYTE_TOKENS
from vocadapt.vocabulary.families.tables.best_segmentations import (
    Pieces,
    PrefixSegmentations,
    Segmentations,
    find_longest_suffixes,
    find_shorter_suffixes,
    list_prefixes,
    segment_prefixes,
)
from vocadapt.vocabulary.families.tables.prefix_trees import PrefixTrees, build_prefix_trees
from vocadapt.vocabulary.vocabulary import Ints, Mask, Tokenization, WordTable


@dataclass(frozen=True, eq=False)
class UnknownCharacters:
    """The tokens that replace a character without a token.

    token: id of the unknown token; None if the model has none.
    bytes: (256,) int64, id of the token of each byte, which take precedence over the unknown token;
        None if there is no byte fallback.
    """

    token: int | None
    bytes: Ints | None


@dataclass(frozen=True, eq=False)
class SegmentationTable(WordTable):
    """Distinct pre-tokens with their counts, and the tokens that match in them.

    counts: (words,) float64, occurrences of each pre-token.
    unknown: the tokens of characters without a token.
    ids: id of each token that can match, by its text.
    trees: a prefix tree of the reversed texts of the tokens.
    segmentations: the best segmentations with the whole vocabulary.
    """

    unknown: UnknownCharacters
    ids: Mapping[str, int]
    trees: PrefixTrees
    segmentations: PrefixSegmentations

    @property
    def size(self) -> int:
        """V, the number of tokens of the vocabulary."""
        return self.segmentations.pieces.size

    def tokenize(self, removed: Mask | None = None) -> Tokenization:
        """Tokenize every word without the tokens in `removed`, a mask over ids (V,).

        A word is unknown if it becomes the unknown token alone, or if it has an unknown character
        and the model has no unknown token. In all other words, the unknown token is a token.
        `removed` has neither the unknown token nor a byte of the byte fallback.
        """
        if removed is None or not removed.any():
            return self._whole
        # 1. Read the words whose best segmentation may have changed.
        segmentations, is_changed_node = self.segmentations.without(removed)
        prefixes = segmentations.prefixes
        is_changed = is_changed_node[prefixes.nodes[prefixes.ends]]
        words = np.flatnonzero(is_changed)
        changed = self._convert(segmentations.read(words))
        # 2. Keep the tokens of the others.
        before = self._whole
        is_kept = ~is_changed[before.words]
        return Tokenization(
            np.where(is_changed, changed.pieces, before.pieces),
            np.where(is_changed, changed.unknown, before.unknown),
            np.concatenate([before.places[is_kept], changed.places]),
            np.concatenate([before.tokens[is_kept], changed.tokens]),
            np.concatenate([before.words[is_kept], changed.words]),
        )

    def _convert(self, segmentations: Segmentations) -> Tokenization:
        """Replace unknown characters by the tokens that stand for them."""
        n_words = len(self.counts)
        tokens = segmentations.tokens
        words = segmentations.words
        places = segmentations.places
        unknown = np.zeros(n_words, dtype=np.bool_)
        is_unknown = tokens == self.size
        if is_unknown.any():
            if self.unknown.bytes is not None:
                tokens, words, places = self._spell_bytes(segmentations, self.unknown.bytes)
            elif self.unknown.token is not None:
                tokens, words, places = self._join_unknown(segmentations, self.unknown.token)
                sizes = np.bincount(words, minlength=n_words)
                unknown[words] = (tokens == self.unknown.token) & (sizes[words] == 1)
            else:
                unknown[words[is_unknown]] = True
        pieces = np.bincount(words, minlength=n_words)
        pieces[unknown] = 1
        is_known = ~unknown[words]
        return Tokenization(pieces, unknown, places[is_known], tokens[is_known], words[is_known])

    def _join_unknown(self, segmentations: Segmentations, token: int) -> tuple[Ints, Ints, Ints]:
        """Return tokens, words and places, with one token for adjacent unknown characters."""
        is_unknown = (segmentations.tokens == self.size) | (segmentations.tokens == token)
        places = segmentations.places[is_unknown]
        ends = places + self.segmentations.pieces.length[segmentations.tokens[is_unknown]]
        is_kept = np.ones(len(is_unknown), dtype=np.bool_)
        is_kept[is_unknown] = ~np.isin(places, ends)
        tokens = np.where(is_unknown, token, segmentations.tokens)
        return tokens[is_kept], segmentations.words[is_kept], segmentations.places[is_kept]

    def _spell_bytes(self, segmentations: Segmentations, ids: Ints) -> tuple[Ints, Ints, Ints]:
        """Return tokens, words and places with the bytes of each unknown character, at its place.

        ids: (256,) int64, id of the token of each byte.
        """
        is_unknown = segmentations.tokens == self.size
        characters = [
            self.segmentations.prefixes.text[i] for i in segmentations.places[is_unknown].tolist()
        ]
        encoded = [character.encode("utf-8", "surrogatepass") for character in characters]
        sizes = np.ones(len(segmentations.tokens), dtype=np.int64)
        sizes[is_unknown] = [len(one) for one in encoded]
        tokens = np.repeat(segmentations.tokens, sizes)
        tokens[tokens == self.size] = ids[np.frombuffer(b"".join(encoded), dtype=np.uint8)]
        return tokens, np.repeat(segmentations.words, sizes), np.repeat(segmentations.places, sizes)

    def compute_removal_costs(self, removed: Mask | None = None) -> NDArray[np.float64]:
        """Compute for each token how many more tokens the text has if that token is removed too,
        (V,) float64.

        An approximation: the text of the token is tokenized alone, without the token. Other
        segmentations of the whole word may be better, so costs are too high: with a real model on
        biomedical abstracts by a fifth in sum. A single character becomes unknown, which adds no
        token.

        Example: hypertension, 10 times in the text, costs 10 if hyper and tension are tokens.
        """
        alone, ids = self._tokens_alone
        costs = np.zeros(self.size)
        costs[ids] = alone.tokenize(removed).pieces - 1
        occurrences: NDArray[np.float64] = self.count_occurrences(self.tokenize(removed))
        return costs * occurrences

    @cached_property
    def _whole(self) -> Tokenization:
        """The tokenization with the whole vocabulary."""
        return self._convert(self.segmentations.read(np.arange(len(self.counts))))

    @cached_property
    def _tokens_alone(self) -> tuple["SegmentationTable", Ints]:
        """A table of the texts of all tokens as words, each tokenized without the token itself; and
        the ids of the tokens, (tokens,) int64.
        """
        prefixes = list_prefixes(list(self.ids), separate=True)
        longest = find_shorter_suffixes(self.trees, prefixes)
        segmentations = segment_prefixes(prefixes, longest, self.segmentations.pieces)
        table = replace(self, counts=np.zeros(len(self.ids)), segmentations=segmentations)
        return table, np.array(list(self.ids.values()), dtype=np.int64)


def build_segmentation_table(
    pieces: Sequence[tuple[str, float]],
    counts: Mapping[str, float],
    unknown: int | None = None,
    byte_fallback: bool = False,
    size: int | None = None,
) -> SegmentationTable:
    """Build the table of pre-tokens and their counts.

    pieces: text and score of each token of the model, by id; of two with the same text, the last
        one counts, as in the tokenizers library.
    unknown: id of the unknown token; None if the model has none.
    byte_fallback: spell an unknown character by its bytes, <0xE2> and so on.
    size: number of all tokens, if others follow the pieces, such as added tokens.
    """
    n_tokens = max(size or 0, len(pieces))
    ids = {piece: i for i, (piece, _) in enumerate(pieces) if piece}
    bodies = {i: (0, piece[::-1]) for piece, i in ids.items()}
    trees = build_prefix_trees(n_tokens, bodies, n_trees=1)
    scores = np.full(n_tokens, np.nan)
    scores[: len(pieces)] = [score for _, score in pieces]
    length = trees.length.copy()
    length[n_tokens] = 1
    byte_ids = np.array([ids[token] for token in BYTE_TOKENS]) if byte_fallback else None
    prefixes = list_prefixes(list(counts))
    longest = find_longest_suffixes(trees, prefixes)
    token_pieces = Pieces(scores, trees.shorter, length)
    return SegmentationTable(
        np.array(list(counts.values()), dtype=np.float64),
        UnknownCharacters(unknown, byte_ids),
        ids,
        trees,
        segment_prefixes(prefixes, longest, token_pieces),
    )
