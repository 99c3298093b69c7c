"""How precisely stacked embeddings place words: cross-validation over the model's own words.

1. Divide the own words that have a word vector into folds, by a hash of the word.
2. Fit the maps without a fold, words of the model without a vector included, and predict the fold.
3. Rank all wordpieces by similarity to each prediction, by CSLS; its own wordpiece is the right
   one.

The own words are not like new words: they are more frequent and have fewer, longer pieces. So P@k
is reported twice: as it is, and reweighted, as if counts, numbers of pieces and lengths of the
first piece were those of the words that will be added.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.spaces.alignment.choose import FOLDS, hash_word
from vocadapt.spaces.alignment.cross_validation import rank_own_pieces
from vocadapt.spaces.alignment.evaluation import ReweightedScores, StackedScores
from vocadapt.spaces.neighbors.search import compute_neighbor_cosines
from vocadapt.spaces.space import EmbeddingSpace, FloatArray, IntArray, normalize_rows
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.initializers.materials import Joiner, has_vector
from vocadapt.vocabulary.initializers.stacked import (
    WORDS,
    FormReader,
    Pieces,
    StackedSettings,
    build_state_function,
    divide_own_words,
    fit_stacked,
    get_contexts,
)

RANKING = "csls pieces"
COUNT_BANDS = (10, 20, 50, 100)  # lowest count of each band but the first
FIRST_PIECE_BANDS = (0.35, 0.5, 0.7)  # lowest fraction of the letters in the first piece
MOST_PIECES = 4  # words of more pieces are in one band
MAX_WEIGHT = 10.0  # of a word, relative to the mean


@dataclass(frozen=True, eq=False)
class StackedQuality:
    """Held-out results of stacked embeddings.

    words: (n,) own words with a vector. ranks: (n,) int64, number of wordpieces nearer than the
    own.
    weights: (n,) float64 with mean 1, which make the words resemble the new ones. new_words: number
    of these; matched: fraction of them whose like is among the own words. candidates: number of
    wordpieces.
    """

    words: tuple[str, ...]
    ranks: IntArray
    weights: FloatArray
    new_words: int
    matched: float
    candidates: int

    def precision(self, k: int) -> float:
        """P@k of the own words."""
        return float((self.ranks < k).mean())

    def reweighted_precision(self, k: int) -> float:
        """P@k as expected for the new words."""
        return float((self.weights * (self.ranks < k)).mean())

    @property
    def scores(self) -> StackedScores:
        """P@k of the own words, and as expected for the new words."""
        expected = ReweightedScores(
            self.reweighted_precision(1),
            self.reweighted_precision(5),
            self.new_words,
            self.matched,
        )
        return StackedScores(
            self.precision(1),
            self.precision(5),
            expected,
            len(self.words),
            self.candidates,
            FOLDS,
        )


def cross_validate_stacked(
    vocabulary: Vocabulary,
    model: EmbeddingSpace,
    domain: EmbeddingSpace,
    new_tokens: Collection[str],
    settings: StackedSettings | None = None,
    progress: Progress = silent,
    joiner: Joiner | None = None,
) -> StackedQuality:
    """Evaluate stacked embeddings on held-out own words of a model.

    model, domain: spaces by token. new_tokens: the words that will be added. joiner: runs the
    network, if the settings name a layer. Raises InputError if too few words of the model can be
    divided, or have a word vector.
    """
    # 1. The own words, and those of them that are judged.
    settings = settings or StackedSettings()
    own = divide_own_words(vocabulary, model, settings.seed)
    fold = np.array([hash_word(vocabulary.body(word)) % FOLDS for word in own.words])
    has_context = np.array([has_vector(domain, word) for word in own.words], dtype=bool)
    judged = own.select(has_context)
    folds_of_judged = fold[has_context]
    if not all((folds_of_judged == number).any() for number in range(FOLDS)):
        raise InputError(
            f"{len(judged):,} words of the model have a word vector: too few to evaluate stacked"
            " embeddings.",
            "Give more text.",
            code="too-few-words",
        )
    vectors, counts = get_contexts(domain, judged.words)
    compute_states = build_state_function(joiner, settings.state_layer)
    reader = FormReader.fit(vocabulary, model, own.words, settings.seed, compute_states)
    form = reader.read(own.words, own.pieces)

    # 2. Predict each fold by maps that were fitted without it, and rank all wordpieces.
    ranks = np.empty(len(judged), dtype=np.int64)
    unit = normalize_rows(model.matrix)
    for number in range(FOLDS):
        progress(number / FOLDS, f"evaluating stacked embeddings, fold {number + 1} of {FOLDS}")
        known = fold != number
        test = folds_of_judged == number
        form_of_known = [part[known] for part in form]
        stacked = fit_stacked(model, domain, own.select(known), form_of_known, settings)
        form_of_judged = [part[has_context] for part in form]
        predicted = normalize_rows(stacked.predict(form_of_judged, vectors, counts))
        pieces = normalize_rows(unit - stacked.form.mean)
        hubness = compute_neighbor_cosines(pieces, predicted)
        found = rank_own_pieces(predicted[test], pieces, hubness, judged.rows[test], judged.rows)
        ranks[test] = found[RANKING]

    # 3. Weight the words like the new ones.
    new = [token for token in new_tokens if vocabulary.position(token) in WORDS]
    weights, matched = compute_matching_weights(
        find_cells(vocabulary, judged.words, judged.pieces, counts),
        _find_new_cells(vocabulary, domain, new),
    )
    progress(1.0, "evaluated")
    return StackedQuality(judged.words, ranks, weights, len(new), matched, len(model))


def _find_new_cells(
    vocabulary: Vocabulary, domain: EmbeddingSpace, tokens: Sequence[str]
) -> IntArray:
    """Return the cells of new words that pieces spell; a word without a vector is rare."""
    pieces = [vocabulary.tokenize_token(token, without=True) for token in tokens]
    spelled = [
        (token, one)
        for token, one in zip(tokens, pieces, strict=True)
        if one and vocabulary.unknown not in one
    ]
    words = [token for token, _ in spelled]
    _, counts = get_contexts(domain, words)
    return find_cells(vocabulary, words, [one for _, one in spelled], counts)


def find_cells(
    vocabulary: Vocabulary, words: Sequence[str], pieces: Sequence[Pieces], counts: IntArray
) -> IntArray:
    """Return the cell of each word, (n,) int64: its band of counts, of numbers of pieces and of the
    fraction of its letters in the first piece.
    """
    n_pieces = np.array([min(len(one), MOST_PIECES) for one in pieces], dtype=np.int64)
    first = np.zeros(len(words))
    for place, (word, one) in enumerate(zip(words, pieces, strict=True)):
        if one:
            first[place] = len(vocabulary.body(one[0])) / max(len(vocabulary.body(word)), 1)
    by_count = np.digitize(counts, COUNT_BANDS)
    by_first = np.digitize(first, FIRST_PIECE_BANDS)
    cells = (by_count * (MOST_PIECES + 1) + n_pieces) * (len(FIRST_PIECE_BANDS) + 1) + by_first
    return np.asarray(cells, dtype=np.int64)


def compute_matching_weights(own: IntArray, new: IntArray) -> tuple[FloatArray, float]:
    """Return weights of own words with which their cells are as frequent as those of new words.

    own: (n,), new: (m,), cells. Returns weights (n,) float64 with mean 1, at most MAX_WEIGHT before
    scaling, and the fraction of the new words whose cell has an own word. Without new words, or
    without a common cell, all weights are 1.

    Example: own [0 0 0 1], new [0 1] → weights [2/3 2/3 2/3 2], matched 1.
    """
    size = int(max(own.max(initial=0), new.max(initial=0))) + 1
    n_own = np.bincount(own, minlength=size)
    n_new = np.bincount(new, minlength=size)
    matched = float(n_new[n_own > 0].sum()) / max(len(new), 1)
    if not matched:
        return np.ones(len(own)), matched
    ratio = np.divide(n_new * len(own), n_own * len(new), out=np.zeros(size), where=n_own > 0)
    weights = np.minimum(ratio, MAX_WEIGHT)[own]
    return np.asarray(weights / weights.mean()), matched
