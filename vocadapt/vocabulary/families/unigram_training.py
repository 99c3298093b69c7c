"""Train a Unigram model on the distinct pre-tokens of a text and their counts (Kudo 2018), as
SentencePiece does. The result does not depend on the order of the counts, and each run gives the
same pieces and scores. (The trainer of the tokenizers library gives other scores in each run.)

1. Seed: single characters, and the most frequent substrings of pre-tokens, many more than needed.
2. Estimate the probability of each piece by expectation maximization: the expected count of a
   piece, over all segmentations of all pre-tokens, weighted by their probabilities under the last
   estimates.
3. Remove the quarter of the pieces whose loss lowers the likelihood of the text least: the
   occurrences of the piece in best segmentations, times the difference of its score to that of the
   best segmentation of its text without it.
4. Repeat 2 and 3 until there are few enough.

The lattice of a text has an edge for each piece that matches at a place. It is built once, for all
pre-tokens together; each round drops the edges of removed pieces.

Example: ▁hug, 10 times, has the edges ▁, h, u, g, ▁h, hu, ug, ▁hu, hug, and ▁hug.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.vocabulary.families.tables.best_segmentations import (
    Floats,
    Pieces,
    Prefixes,
    find_longest_suffixes,
    find_shorter_suffixes,
    list_prefixes,
    segment_prefixes,
)
from vocadapt.vocabulary.families.tables.prefix_trees import (
    PrefixTrees,
    assign_places,
    build_prefix_trees,
    encode_code_points,
)
from vocadapt.vocabulary.vocabulary import Ints, Mask, sum_by_id

ALPHABET = 1000  # characters to keep, the most frequent ones
MAX_LENGTH = 16  # characters of a piece
MIN_COUNT = 2  # a substring that occurs only once is no seed
SEEDS_PER_PIECE = 10  # seeds for each piece that is wanted
KEPT_FRACTION = 0.75  # of the pieces, in each round
ITERATIONS = 2  # of expectation maximization, in each round
MARGIN = 1.1  # the rounds end at this many pieces for each one that is wanted
MIN_EXPECTED = 0.5  # a piece with a lower expected count is removed


@dataclass(frozen=True, eq=False)
class Lattice:
    """All pieces that match in pre-tokens.

    counts: (words,) float64, occurrences of each pre-token.
    prefixes: those of the pre-tokens. longest_suffixes: (nodes,) int64, id of the longest piece
        that is a suffix of each, or V, the number of pieces.
    piece_prefixes, proper_suffixes: the same for the texts of the pieces, with the longest piece
        that is a proper suffix of the text.
    trees: the reversed pieces.
    starts, ends, tokens, words: (edges,) int64, places between which a piece matches, its id, and
        the index of the word; sorted by the distance of the end from the start of the word.
    depths: (edges,) int64, this distance.
    """

    counts: Floats
    prefixes: Prefixes
    longest_suffixes: Ints
    piece_prefixes: Prefixes
    proper_suffixes: Ints
    trees: PrefixTrees
    starts: Ints
    ends: Ints
    tokens: Ints
    words: Ints
    depths: Ints

    def count_expected(self, scores: Floats) -> Floats:
        """Compute the expected count of each piece over all segmentations, (V,) float64.

        scores: (V,) float64; minus infinity for a removed piece.
        """
        # 1. Log probability of the characters before each place, and of those after it.
        is_kept = np.isfinite(scores[self.tokens])
        starts = self.starts[is_kept]
        ends = self.ends[is_kept]
        tokens = self.tokens[is_kept]
        words = self.words[is_kept]
        weights = scores[tokens]
        before = _sum_paths(
            starts,
            ends,
            weights,
            self.depths[is_kept],
            self.prefixes.starts,
            len(self.prefixes.text),
        )
        distances = self.prefixes.ends[words] - starts
        back = np.lexsort((starts, distances))
        after = _sum_paths(
            ends[back],
            starts[back],
            weights[back],
            distances[back],
            self.prefixes.ends,
            len(self.prefixes.text),
        )
        # 2. Probability that a segmentation of the word has the edge.
        total = before[self.prefixes.ends]
        posterior = np.exp(before[starts] + weights + after[ends] - total[words])
        return sum_by_id(tokens, posterior * self.counts[words], len(scores))

    def count_best(self, scores: Floats, removed: Mask) -> Floats:
        """Count each piece in the best segmentation of every pre-token, (V,) float64."""
        segmentations = segment_prefixes(
            self.prefixes, self.longest_suffixes, self._pieces(scores, removed), removed
        ).read(np.arange(len(self.counts)))
        return sum_by_id(segmentations.tokens, self.counts[segmentations.words], len(scores))

    def score_alternatives(self, scores: Floats, removed: Mask) -> Floats:
        """Compute the score of the best segmentation of each piece without the piece, (V,) float64;
        minus infinity for a single character.
        """
        segmentations = segment_prefixes(
            self.piece_prefixes, self.proper_suffixes, self._pieces(scores, removed), removed
        ).read(np.arange(len(scores)))
        known = np.append(scores, -np.inf)[segmentations.tokens]
        return np.bincount(segmentations.words, weights=known, minlength=len(scores)).astype(
            np.float64
        )

    def _pieces(self, scores: Floats, removed: Mask) -> Pieces:
        length = self.trees.length.copy()
        length[-1] = 1
        return Pieces(np.where(removed, np.nan, scores), self.trees.shorter, length)


def train_unigram(
    counts: Mapping[str, int], size: int, progress: Progress = silent
) -> dict[str, float]:
    """Train at most `size` pieces; return their scores, best first, ties by spelling.

    counts: pre-tokens with their counts. All of their characters are pieces, up to ALPHABET, and
    the rarer ones are left out. Raises InputError if `size` is less than the number of characters.
    """
    # 1. Seed pieces; the first ones are single characters, the most frequent first.
    words = sorted(counts)
    frequency = np.array([counts[word] for word in words], dtype=np.float64)
    characters = _count_characters(counts)
    n_kept = min(ALPHABET, len(characters))
    if size < n_kept:
        raise InputError(
            f"{size:,} tokens besides the special ones are too few: the text has {n_kept:,}"
            " characters, and each needs a token.",
            f"Choose a vocabulary with at least {n_kept - size:,} tokens more.",
            code="too-few-tokens",
        )
    rare = set(characters[n_kept:])
    seeds = find_seeds(words, frequency, SEEDS_PER_PIECE * size)
    texts = [*characters, *(seed for seed in seeds if rare.isdisjoint(seed))]
    if not texts:
        return {}
    lattice = _build_lattice(words, frequency, texts)

    # 2. Estimate scores and remove pieces until there are few enough.
    is_character = np.arange(len(texts)) < len(characters)
    n_wanted = round(MARGIN * (size - n_kept))
    removed = np.zeros(len(texts), dtype=np.bool_)
    expected = np.ones(len(texts))
    scores = _estimate(expected, removed, is_character)
    n_start = len(texts)
    while True:
        for _ in range(ITERATIONS):
            expected = lattice.count_expected(scores)
            removed |= (expected < MIN_EXPECTED) & ~is_character
            scores = _estimate(expected, removed, is_character)
        left = np.flatnonzero(~(removed | is_character))
        progress(None, f"{len(left):,} of {n_start:,} candidates are left")
        if len(left) <= n_wanted:
            break
        n_next = max(n_wanted, int(KEPT_FRACTION * len(left)))
        losses = _measure_losses(lattice, scores, removed)[left]
        removed[left[np.argsort(-losses, kind="stable")[n_next:]]] = True
        scores = _estimate(expected, removed, is_character)

    # 3. Take the best pieces that are left.
    left = left[np.argsort(-scores[left], kind="stable")][: size - n_kept]
    chosen = {texts[i]: float(scores[i]) for i in [*range(n_kept), *left.tolist()]}
    return dict(sorted(chosen.items(), key=lambda item: (-item[1], item[0])))


def find_seeds(words: list[str], frequency: Floats, limit: int) -> list[str]:
    """Return the substrings of 2 to MAX_LENGTH characters that occur at least MIN_COUNT times, at
    most `limit`, those with the highest count · length first, ties by spelling.

    frequency: (words,) float64, occurrences of each word.

    A substring that always occurs within the same longer one is left out: tachycardi in
    tachycardia. Substrings are numbered by length; those of length k + 1 are pairs of the number of
    the first k characters and the next character.
    """
    texts = assign_places(words)
    letters = encode_code_points(texts.text)
    sizes = texts.ends - texts.starts + 1
    weights = np.repeat(frequency, sizes)
    room = np.repeat(texts.ends, sizes) - np.arange(len(letters))  # characters until the word ends
    _, number = np.unique(letters, return_inverse=True)
    base = int(letters.max(initial=0)) + 1
    counts = np.bincount(number, weights=weights)
    places = begins = np.flatnonzero(room >= 1)
    found: list[tuple[float, str]] = []
    for length in range(2, MAX_LENGTH + 2):
        # 1. Number the substrings of this length that begin with a frequent one.
        places = places[(room[places] >= length) & (counts[number[places]] >= MIN_COUNT)]
        keys = number[places] * base + letters[places + length - 1]
        _, first, longer = np.unique(keys, return_index=True, return_inverse=True)
        longer_counts = np.bincount(longer, weights=weights[places], minlength=len(first))
        # 2. Keep those of the length before that occur elsewhere, too.
        if length > 2:
            is_redundant = np.zeros(len(counts), dtype=np.bool_)
            for part in (number[places], number[places + 1]):
                is_redundant[part[longer_counts[longer] == counts[part]]] = True
            is_seed = (counts >= MIN_COUNT) & ~is_redundant
            found += [
                (-counts[i] * (length - 1), texts.text[place : place + length - 1])
                for i, place in enumerate(begins.tolist())
                if is_seed[i]
            ]
        # 3. Continue with the longer ones.
        begins = places[first]
        number = number.copy()
        number[places] = longer
        others = np.ones(len(letters), dtype=np.bool_)
        others[places] = False
        number[others] = len(first)
        counts = np.append(longer_counts, 0.0)
    return [text for _, text in sorted(found)[:limit]]


def _count_characters(counts: Mapping[str, int]) -> list[str]:
    """Return the characters of words, the most frequent first, ties by code point."""
    frequency: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            frequency[character] += count
    return sorted(frequency, key=lambda character: (-frequency[character], character))


def _build_lattice(words: list[str], frequency: Floats, texts: list[str]) -> Lattice:
    trees = build_prefix_trees(len(texts), {i: (0, text[::-1]) for i, text in enumerate(texts)}, 1)
    prefixes = list_prefixes(words)
    longest = find_longest_suffixes(trees, prefixes)
    # 1. All pieces that end at each place: the longest, and its suffixes.
    sizes = prefixes.ends - prefixes.starts + 1
    word_of = np.repeat(np.arange(len(words)), sizes)
    active = np.arange(len(prefixes.nodes))
    token = longest[prefixes.nodes]
    found_ends: list[Ints] = []
    found_tokens: list[Ints] = []
    while len(active := active[token < len(texts)]):
        token = token[token < len(texts)]
        found_ends.append(active)
        found_tokens.append(token)
        token = trees.shorter[token]
    ends = np.concatenate(found_ends)
    tokens = np.concatenate(found_tokens)
    # 2. Sort them by the distance of the end from the start of the word.
    starts = ends - trees.length[tokens]
    depths = ends - prefixes.starts[word_of[ends]]
    order = np.lexsort((starts, ends, depths))
    # 3. The texts of the pieces, to be segmented without the piece itself.
    alone = list_prefixes(texts, separate=True)
    return Lattice(
        frequency,
        prefixes,
        longest,
        alone,
        find_shorter_suffixes(trees, alone),
        trees,
        starts[order],
        ends[order],
        tokens[order],
        word_of[ends[order]],
        depths[order],
    )


def _sum_paths(
    sources: Ints, targets: Ints, weights: Floats, depths: Ints, roots: Ints, size: int
) -> Floats:
    """Compute the log of the summed probabilities of all paths from a root to each place, (size,)
    float64.

    sources, targets, weights, depths: (edges,), sorted by depth, then by target; all edges into the
    source of an edge have a lower depth.
    """
    sums = np.full(size, -np.inf)
    sums[roots] = 0.0
    bounds = np.searchsorted(depths, np.arange(1, int(depths.max(initial=0)) + 2))
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if first == last:
            continue
        target = targets[first:last]
        values = sums[sources[first:last]] + weights[first:last]
        groups = np.flatnonzero(np.append(True, target[1:] != target[:-1]))
        highest = np.maximum.reduceat(values, groups)
        highest = np.where(np.isfinite(highest), highest, 0.0)
        repeated = np.repeat(highest, np.diff(np.append(groups, len(target))))
        with np.errstate(divide="ignore"):
            total = np.log(np.add.reduceat(np.exp(values - repeated), groups))
        sums[target[groups]] = highest + total
    return sums


def _estimate(expected: Floats, removed: Mask, is_character: Mask) -> Floats:
    """Return the scores of pieces, (V,) float64; minus infinity for those in `removed`.

    expected: (V,) float64, expected counts. removed, is_character: (V,) bool.

    The digamma function instead of the logarithm favors few frequent pieces, as in SentencePiece
    (variational Bayes with a sparse prior, Liang et al. 2007). A character with a count of nearly 0
    gets the score of MIN_EXPECTED.
    """
    from scipy.special import digamma

    counts = np.where(is_character, np.maximum(expected, MIN_EXPECTED), expected)
    counts[removed] = 0
    scores = np.full(len(counts), -np.inf)
    is_left = counts > 0
    scores[is_left] = digamma(counts[is_left]) - digamma(counts.sum())
    return scores


def _measure_losses(lattice: Lattice, scores: Floats, removed: Mask) -> Floats:
    """Return how much the log-likelihood of the text decreases without each piece, (V,) float64.

    The loss is 0 for a piece that is not the best segmentation of its own text, for single
    characters, and for pieces in `removed`.
    """
    alternatives = lattice.score_alternatives(scores, removed)
    has_loss = ~removed & np.isfinite(alternatives)
    losses = np.zeros(len(scores))
    losses[has_loss] = np.maximum(scores[has_loss] - alternatives[has_loss], 0.0)
    return losses * lattice.count_best(scores, removed)
