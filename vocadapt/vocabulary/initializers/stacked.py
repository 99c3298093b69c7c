"""Stacked embeddings: linear maps from the form and the context of a word to its embedding.

The context of a word is its word vector; its form are its pieces. The maps are fitted on words of
the model's own vocabulary, whose embeddings are known. Each is divided into pieces as if it were
new: half of the words are removed from the vocabulary, the words of this half are divided, then the
other half. So their pieces are about as many and as short as those of new words, and an inflected
word does not always have its stem as a piece.

    e(w) = A · f(w) + c / (c + k) · B · [f(w); v(w); log c]

f(w) are the mean, the first and the last piece of the word, its n-grams of letters and, optionally,
the hidden state at its last piece (state_layer); v(w) is its word vector and c its count in the
text. A is fitted by ridge regression on all words that can be divided, B on what A leaves over,
with the words that have a vector. So a word without a vector gets the prediction from its form, and
the correction is smaller for rare words: with k = 3, at 5 occurrences, 5/8 of it. Directions are
fitted: vectors have length 1 and are centered. The length is that of the model's own words of equal
frequency.

Its parts are known: the regression of embeddings on contexts is that of Poerner et al. 2020 and, à
la carte, of Khodak et al. 2018; form and context are joined by the attentive mimicking and the
BERTRAM of Schick and Schütze (2019, 2020), by a network that is trained. Ours is the closed form,
fitted in seconds: the division of the model's own words by halves, the correction of a prediction
from the form, and its shrinkage.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.settings import ABOVE_ZERO, MAX_SEED, CheckedSettings, setting
from vocadapt.spaces.alignment.vector_length import fit_norm_curve, read_norm_curve
from vocadapt.spaces.orthonormal import orthonormalize
from vocadapt.spaces.space import EmbeddingSpace, IntArray, Matrix, normalize_rows
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.initializers.materials import (
    Initialized,
    Initializer,
    InitializerSettings,
    Joiner,
    Materials,
    Provenance,
    has_vector,
    list_trained_tokens,
)
from vocadapt.vocabulary.initializers.mixing import average_pieces

MIN_LETTERS = 3  # of a word that the map is fitted on; shorter ones are often parts of words
MIN_WORDS = 10  # that a map is fitted on
WORDS = ("word start", "whole word")  # position classes of words

NGRAMS = (3, 5)  # lengths of the n-grams of letters, ends of words included
# In a vocabulary of this size, an n-gram of one word alone says nothing about others: without
# these, P@5 on reviews is .574 instead of .572, and there are half as many to compress.
MANY_WORDS = 1000
SPELLING_DIMENSIONS = 768  # of the compressed n-grams
ITERATIONS = 2  # of the subspace iteration that finds these dimensions

Pieces = tuple[str, ...]
StateFunction = Callable[[Sequence[Pieces]], Matrix]


@dataclass(frozen=True)
class StackedSettings(CheckedSettings):
    """Settings of stacked embeddings; measured on contracts and reviews (docs/small-texts.md)."""

    context_weight: float = setting(
        4.0, "weight of the word vector beside the form", low=ABOVE_ZERO, high=1_000
    )
    ridge: float = setting(
        1.0,
        "ridge penalty of both maps, a fraction of the mean variance of the features",
        low=ABOVE_ZERO,
        high=1_000,
        label="Ridge penalty",
    )
    half_reliable: float = setting(
        3.0,
        "constant k in c / (c + k), the weight of the context of a word with c occurrences",
        high=1e6,
        label="Shrinkage constant",
    )
    state_layer: int = setting(
        0,
        "hidden layer whose state at the word's last piece is added to the features",
        high=1_000,
        empty="no layer",
    )
    seed: int = setting(1, "random seed of the halves of the model's own words", high=MAX_SEED)


@dataclass(frozen=True, eq=False)
class OwnWords:
    """Words of a model with their pieces as if new, and the row of each embedding, (n,)."""

    words: tuple[str, ...]
    pieces: tuple[Pieces, ...]
    rows: IntArray

    def __len__(self) -> int:
        return len(self.words)

    def select(self, chosen: NDArray[np.bool_]) -> "OwnWords":
        """Return the words of a mask (n,) bool."""
        places = np.flatnonzero(chosen).tolist()
        return OwnWords(
            tuple(self.words[i] for i in places),
            tuple(self.pieces[i] for i in places),
            self.rows[chosen],
        )


def divide_own_words(vocabulary: Vocabulary, model: EmbeddingSpace, seed: int) -> OwnWords:
    """Divide the words of a model into pieces as if they were new.

    model: its embeddings, by token. Words that cannot be divided are left out. Raises InputError if
    fewer than MIN_WORDS remain.
    """
    # 1. Words: letters only, and produced by the tokenizer.
    words = [
        token
        for token in vocabulary.tokens
        if token in model
        and vocabulary.position(token) in WORDS
        and vocabulary.body(token).isalpha()
        and len(vocabulary.body(token)) >= MIN_LETTERS
        and model.kinds.is_produced(token)
    ]

    # 2. Divide each half without the tokens of this half.
    order = np.random.default_rng(seed).permutation(len(words))
    divided: dict[str, Pieces] = {}
    for half in np.array_split(order, 2):
        removed = [words[i] for i in half.tolist()]
        others = vocabulary.without(frozenset(removed))
        for word in removed:
            pieces = others.tokenize_token(word)
            if len(pieces) > 1 and vocabulary.unknown not in pieces:
                divided[word] = pieces
    if len(divided) < MIN_WORDS:
        raise InputError(
            f"{model.name} has {len(divided):,} words that can be divided into pieces, too few to"
            " map the form of a word to its embedding.",
            "Choose another initializer, such as aligned.",
            code="too-few-words",
        )
    found = tuple(word for word in words if word in divided)
    return OwnWords(found, tuple(divided[word] for word in found), model.rows(found))


@dataclass(frozen=True, eq=False)
class Block:
    """A block of features: vectors of length 1, centered, scaled to a mean square of weight²."""

    mean: Matrix
    scale: float

    @classmethod
    def fit(cls, vectors: Matrix, weight: float = 1.0) -> "Block":
        """Fit mean and scale to vectors (n, d)."""
        unit = normalize_rows(vectors)
        mean = unit.mean(axis=0)
        spread = float(np.sqrt(((unit - mean) ** 2).sum(axis=1).mean()))
        scale = 0.0
        if spread:
            scale = weight / spread
        return cls(mean, scale)

    def apply(self, vectors: Matrix) -> Matrix:
        """Return the features of vectors (n, d), float32."""
        return np.asarray((normalize_rows(vectors) - self.mean) * np.float32(self.scale))


@dataclass(frozen=True, eq=False)
class FormReader:
    """Reads the form of words: their pieces and their spelling.

    model: embeddings by token. n_grams: a fitted TfidfVectorizer, which weights the n-grams of 3 to
    5 letters of words by rarity. basis: the directions that compress them, (n-grams, dimensions).
    compute_states: computes the hidden states of words from their pieces, (words, width); None: not
    used.
    """

    vocabulary: Vocabulary
    model: EmbeddingSpace
    n_grams: Any
    basis: Matrix
    compute_states: StateFunction | None = None

    @classmethod
    def fit(
        cls,
        vocabulary: Vocabulary,
        model: EmbeddingSpace,
        words: Sequence[str],
        seed: int,
        compute_states: StateFunction | None = None,
    ) -> "FormReader":
        """Fit the spelling to words of the model."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        # 1. The weights of the n-grams.
        bodies = [vocabulary.body(word) for word in words]
        min_df = 1
        if len(words) >= MANY_WORDS:
            min_df = 2
        tfidf = TfidfVectorizer(
            analyzer="char_wb",
            ngram_range=NGRAMS,
            lowercase=False,
            min_df=min_df,
            dtype=np.float32,
        )
        weights = tfidf.fit_transform(bodies)

        # 2. The directions in which the words differ most, by subspace iteration. The maps do not
        #    change if the features are rotated, so singular vectors are not needed.
        dimensions = min(SPELLING_DIMENSIONS, *weights.shape)
        rng = np.random.default_rng(seed)
        basis = rng.standard_normal((weights.shape[1], dimensions), dtype=np.float32)
        for _ in range(ITERATIONS):
            basis = orthonormalize(weights.T @ (weights @ basis))
        return cls(vocabulary, model, tfidf, basis, compute_states)

    def read(self, words: Sequence[str], pieces: Sequence[Pieces]) -> list[Matrix]:
        """Return mean, first and last piece, (words, dim), the spelling, (words, dimensions), and
        the hidden states, (words, width), if they are read.
        """
        rows = [self.model.rows(one) for one in pieces]
        mean = np.empty((len(rows), self.model.dim), np.float32)
        for place, one in enumerate(rows):
            mean[place] = self.model.matrix[one].mean(axis=0)
        first = np.array([one[0] for one in rows], dtype=np.int64)
        last = np.array([one[-1] for one in rows], dtype=np.int64)
        bodies = [self.vocabulary.body(word) for word in words]
        spelling = self.n_grams.transform(bodies) @ self.basis
        form = [mean, self.model.matrix[first], self.model.matrix[last], spelling]
        if self.compute_states is not None:
            form.append(self.compute_states(pieces))
        return form


@dataclass(frozen=True, eq=False)
class FormMap:
    """A: predicts the direction of an embedding from the form.

    blocks: of the form. matrix: (features, dim). mean: (dim,), mean direction of the embeddings.
    """

    blocks: tuple[Block, ...]
    matrix: Matrix
    mean: Matrix


def join_blocks(blocks: Sequence[Block], form: Sequence[Matrix]) -> Matrix:
    """Return the features of the form, (words, features) float32."""
    parts = [block.apply(part) for block, part in zip(blocks, form, strict=True)]
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, eq=False)
class ContextMap:
    """B: corrects a prediction from the form by the context.

    block: of the word vectors. log_mean, log_sd: of the log counts of the anchors. matrix:
    (features of the form + vector dim + 1, dim). anchors: number of words that it was fitted on.
    """

    block: Block
    log_mean: float
    log_sd: float
    matrix: Matrix
    anchors: int

    def correct(
        self, form: Matrix, vectors: Matrix, counts: IntArray, half_reliable: float
    ) -> Matrix:
        """Return the correction of words, (words, dim) float32; form: (words, features)."""
        features = join_features(form, self.block, vectors, counts, self.log_mean, self.log_sd)
        trust = counts / np.maximum(counts + half_reliable, 1e-9)
        return np.asarray(trust[:, None].astype(np.float32) * (features @ self.matrix))


def join_features(
    form: Matrix, block: Block, vectors: Matrix, counts: IntArray, log_mean: float, log_sd: float
) -> Matrix:
    """Return the features of form and context, (words, features) float32."""
    logs = (np.log(np.maximum(counts, 1)) - log_mean) / (log_sd or 1.0)
    return np.concatenate([form, block.apply(vectors), logs[:, None].astype(np.float32)], axis=1)


@dataclass(frozen=True, eq=False)
class StackedMap:
    """The fitted maps; context: None if too few own words have a word vector.

    norm_curve: norms of the own words by frequency, see `fit_norm_curve`. words: number of own
    words that the map of the form was fitted on.
    """

    settings: StackedSettings
    form: FormMap
    context: ContextMap | None
    norm_curve: Matrix
    words: int

    def predict(self, form: Sequence[Matrix], vectors: Matrix, counts: IntArray) -> Matrix:
        """Predict centered directions, (words, dim) float32.

        vectors: (words, vector dim), with their counts (words,); of a word with the count 0, the
        form alone is used.
        """
        features = join_blocks(self.form.blocks, form)
        predicted = np.asarray(features @ self.form.matrix)
        if self.context is None:
            return predicted
        half_reliable = self.settings.half_reliable
        return predicted + self.context.correct(features, vectors, counts, half_reliable)

    def embed(self, predicted: Matrix, counts: IntArray) -> Matrix:
        """Return embeddings (words, dim) float32 with the norm of own words of equal frequency."""
        norms = read_norm_curve(self.norm_curve, counts, len(predicted))
        return normalize_rows(predicted + self.form.mean) * norms[:, None]


def fit_stacked(
    model: EmbeddingSpace,
    domain: EmbeddingSpace,
    own: OwnWords,
    form: Sequence[Matrix],
    settings: StackedSettings,
) -> StackedMap:
    """Fit the maps on own words of a model.

    domain: word vectors by token. form: of the own words (`FormReader.read`).
    """
    # 1. The form. Directions are centered by the words of the text, if there are any.
    has_context = np.array([has_vector(domain, word) for word in own.words], dtype=bool)
    is_enough = has_context.sum() >= MIN_WORDS
    in_text = has_context if is_enough else np.ones_like(has_context)
    directions = normalize_rows(model.matrix[own.rows])
    mean = directions[in_text].mean(axis=0)
    targets = directions - mean
    blocks = tuple(Block.fit(part) for part in form)
    features = join_blocks(blocks, form)
    by_form = FormMap(blocks, solve_ridge(features, targets, settings.ridge), mean)

    # 2. The context.
    rows = own.rows[in_text]
    if not is_enough:
        curve = fit_norm_curve(None, rows, model.matrix[rows])
        return StackedMap(settings, by_form, None, curve, len(own))
    known = own.select(has_context).words
    vectors, counts = get_contexts(domain, known)
    block = Block.fit(vectors, settings.context_weight)
    logs = np.log(np.maximum(counts, 1))
    log_mean = float(logs.mean())
    log_sd = float(logs.std())
    both = join_features(features[has_context], block, vectors, counts, log_mean, log_sd)
    left_over = targets[has_context] - features[has_context] @ by_form.matrix
    matrix = solve_ridge(both, left_over, settings.ridge)
    by_context = ContextMap(block, log_mean, log_sd, matrix, len(known))

    # 3. The norms.
    curve = fit_norm_curve(domain.counts, domain.rows(known), model.matrix[rows])
    return StackedMap(settings, by_form, by_context, curve, len(own))


def solve_ridge(x: Matrix, y: Matrix, ridge: float) -> Matrix:
    """Solve x · W ≈ y by ridge regression, (features, dim) float32.

    ridge: penalty, a fraction of the mean diagonal of xᵀx. The products are in single precision,
    whose error is far below the penalty; the equations are solved in double precision.
    """
    from scipy.linalg import solve

    squares = (x.T @ x).astype(np.float64)
    penalty = ridge * float(np.trace(squares)) / len(squares)
    # A penalty of 0 would be possible only without any variance.
    squares[np.diag_indices(len(squares))] += penalty or 1.0
    solved = solve(squares, x.T @ y, overwrite_a=True, assume_a="pos")
    return np.asarray(solved, dtype=np.float32)


def get_contexts(domain: EmbeddingSpace, words: Sequence[str]) -> tuple[Matrix, IntArray]:
    """Return the vectors of words, (words, dim), and their counts, (words,); 0 for a word without a
    vector. Vectors of another program, without counts, count as reliable.
    """
    vectors = np.zeros((len(words), domain.dim), np.float32)
    counts = np.zeros(len(words), dtype=np.int64)
    known = [place for place, word in enumerate(words) if has_vector(domain, word)]
    rows = domain.rows([words[place] for place in known])
    vectors[known] = domain.matrix[rows]
    counts[known] = 10**9 if domain.counts is None else domain.counts[rows]
    return vectors, counts


def initialize_stacked(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Predict the embeddings of words from their contexts and pieces; tokens that are no words, or
    that no pieces spell, get the mean of their pieces.
    """
    base, model = materials.plan.base, materials.model
    # Contexts are the word vectors of the domain, or else the vectors of a target model.
    domain = materials.similarity_space if materials.domain is None else materials.domain
    own_settings: StackedSettings = settings.own

    # 1. Fit the map on the model's own words that keep their embeddings.
    trained = frozenset(list_trained_tokens(materials.plan, model)) - {*materials.plan.replaced}
    own = divide_own_words(base, model, own_settings.seed)
    own = own.select(np.array([word in trained for word in own.words], dtype=bool))
    compute_states = build_state_function(materials.joiner, own_settings.state_layer)
    reader = FormReader.fit(base, model, own.words, own_settings.seed, compute_states)
    stacked = fit_stacked(model, domain, own, reader.read(own.words, own.pieces), own_settings)

    # 2. Divide the new tokens; the mean of the pieces is the fallback.
    tokens = materials.plan.new_embeddings
    embeddings, sources = average_pieces(materials, tokens)
    provenance = list(sources)
    pieces = [base.tokenize_token(token, without=True) for token in tokens]
    words: list[int] = []
    for place, (token, one) in enumerate(zip(tokens, pieces, strict=True)):
        if base.position(token) in WORDS and one and base.unknown not in one:
            words.append(place)
        else:
            how = f"not a word that pieces spell: {sources[place].how}"
            provenance[place] = Provenance(how, sources[place].donors, fallback=True)

    # 3. Predict the words.
    if words:
        chosen = [tokens[place] for place in words]
        form = reader.read(chosen, [pieces[place] for place in words])
        vectors, counts = get_contexts(domain, chosen)
        predicted = stacked.predict(form, vectors, counts)
        embeddings[words] = stacked.embed(predicted, counts)
        for place, count in zip(words, counts.tolist(), strict=True):
            provenance[place] = _describe(stacked, pieces[place], count > 0)
    return embeddings, tuple(provenance)


def build_state_function(joiner: Joiner | None, layer: int) -> StateFunction | None:
    """Return the function that computes the hidden states of a layer; None for layer 0."""
    if not layer:
        return None
    if joiner is None:
        raise InputError(
            "Hidden states need the network, but only the embeddings of the model are available"
            " here.",
            "Set the layer to 0.",
            "state_layer",
            code="no-network",
        )
    return lambda words: joiner.compute_states(words, layer)


def _describe(stacked: StackedMap, pieces: Pieces, with_context: bool) -> Provenance:
    form = f"its form ({' '.join(pieces)}), fitted on {stacked.words:,} words"
    if stacked.settings.state_layer:
        form = f"the hidden state of layer {stacked.settings.state_layer} and {form}"
    if with_context and stacked.context is not None:
        return Provenance(f"its word vector, on {stacked.context.anchors:,} words, and {form}")
    why = "it has no word vector"
    if stacked.context is None:
        why = "too few words of the model have a word vector"
    return Provenance(f"{form}, without a context: {why}", fallback=True)


STACKED = {
    "stacked": Initializer(
        initialize_stacked,
        "a map from the word's vector and its pieces to an embedding, fitted on the model's own"
        " words, which are divided as if they were new; a word without a vector gets what its"
        " pieces predict",
        "A · f + c / (c + k) · B · [f; v; log c], f: pieces and n-grams",
        "ours; after Poerner et al. 2020 (context) and Schick and Schütze 2020, BERTRAM (form)",
        needs="similar",
        own=StackedSettings,
        reads_rows=True,
        fits_map=True,
    ),
}
