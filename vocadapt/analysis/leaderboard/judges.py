"""References for evaluating initialized embeddings: the true embeddings of hidden tokens, and the
neighbors of new tokens in the target space.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.spaces.neighbors.search import find_nearest, iterate_blocks
from vocadapt.spaces.space import EmbeddingSpace, FloatArray, IntArray, Matrix, normalize_rows
from vocadapt.vocabulary.initializers.initialize import Materials, NewEmbeddings
from vocadapt.vocabulary.initializers.materials import has_vector, list_trained_tokens
from vocadapt.vocabulary.initializers.stacked_quality import compute_matching_weights, find_cells
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

HELD_OUT = 500  # number of hidden tokens by default
STEM = 5  # letters: words that begin with the same ones count as words of one stem
MIN_BEGINNING = 3  # letters of a token that is the beginning of a stem
MAX_HELD_OUT = 0.25  # maximum fraction of the common tokens that is hidden by default
# Fraction of the mean norm; a centered embedding with a smaller norm equals the mean up to
# rounding.
MIN_RELATIVE_NORM = 1e-5


def choose_hidden_tokens(
    materials: Materials, n: int = 0, seed: int = 1
) -> tuple[tuple[str, ...], int]:
    """Choose `n` common tokens to hide (0: 500, or a quarter of them if that is less).

    Returns the tokens and the number of candidates. Single characters and bytes are never hidden,
    so every word can still be tokenized. Raises InputError if less than half of the candidates
    would remain.
    """
    pool = _list_hideable(materials)
    n = n or min(HELD_OUT, int(MAX_HELD_OUT * len(pool)))
    if not 0 < n <= len(pool) // 2:
        raise InputError(
            f"Cannot hide {n:,} of {len(pool):,} common tokens of two characters or more: at least"
            " half of them must remain.",
            "Hide fewer, or give a target that has more tokens in common with the model.",
            code="too-few-common-tokens",
        )
    drawn = np.random.default_rng(seed).choice(len(pool), n, replace=False)
    return tuple(pool[i] for i in sorted(drawn)), len(pool)


def choose_hidden_stems(
    materials: Materials, n: int, seed: int
) -> tuple[tuple[str, ...], frozenset[str]]:
    """Choose about `n` common tokens that are hidden with their stems: with all tokens that have
    the same first letters, and those that are the beginning of these letters.

    Returns the tokens, and all tokens of the model to remove. Returns no token if less than half of
    the common tokens would remain.

    Example: "genes" is hidden together with "genesis", "Genes", "gene" and "gen".
    """
    # 1. The common tokens by stem.
    base = materials.plan.base
    pool = _list_hideable(materials)
    by_stem: dict[str, list[str]] = {}
    for token in pool:
        letters = base.body(token).casefold()
        if len(letters) >= STEM:
            by_stem.setdefault(letters[:STEM], []).append(token)

    # 2. Draw stems until there are enough tokens.
    stems = list(by_stem)
    drawn_stems: set[str] = set()
    tokens: set[str] = set()
    for i in np.random.default_rng(seed).permutation(len(stems)).tolist():
        if len(tokens) < n:
            drawn_stems.add(stems[i])
            tokens.update(by_stem[stems[i]])

    # 3. Remove what resembles them.
    lengths = range(MIN_BEGINNING, STEM)
    beginnings = {stem[:length] for stem in drawn_stems for length in lengths}
    removed = set[str]()
    for token in materials.model.words:
        letters = base.body(token).casefold()
        if letters[:STEM] in drawn_stems or letters in beginnings:
            removed.add(token)
    if len(removed.intersection(pool)) > len(pool) // 2:
        return (), frozenset()
    return tuple(token for token in pool if token in tokens), frozenset(removed)


def _list_hideable(materials: Materials) -> list[str]:
    """Return the common tokens of two letters or digits or more; a byte is neither."""
    body = materials.plan.base.body
    return [t for t in materials.donors if len(body(t)) > 1 and body(t).isalnum()]


def hide_tokens(
    materials: Materials, hidden: tuple[str, ...], others: frozenset[str] = frozenset()
) -> Materials:
    """Return the materials of the model without these tokens and without `others`, with a plan that
    adds the tokens again.
    """
    removed = others.union(hidden)
    visible = [row for row, token in enumerate(materials.model.words) if token not in removed]
    plan = VocabularyPlan(
        materials.plan.base.without(removed), tuple(AddedWord(token, ()) for token in hidden)
    )
    return replace(materials, plan=plan, model=materials.model.take(visible), alignment=None)


def sample_materials(materials: Materials, most: int, seed: int) -> Materials:
    """Return the materials of a plan with at most `most` new embeddings, sampled by seed."""
    plan = materials.plan
    # Unlike `choice`, a permutation gives nested samples: a larger one contains the smaller ones.
    drawn = np.random.default_rng(seed).permutation(len(plan.new_embeddings))[:most]
    some = frozenset(plan.new_embeddings[i] for i in drawn)
    remaining = some.union(plan.kept)
    added = tuple(word for word in plan.added if word.token in some)
    replaced = tuple(token for token in plan.replaced if token in some)
    order = tuple(token for token in plan.tokens if token in remaining)
    return replace(materials, plan=replace(plan, added=added, replaced=replaced, order=order))


class TrueEmbeddings:
    """The true embeddings of hidden tokens among all old embeddings, centered at `mean`, the mean
    of the visible ones.
    """

    def __init__(self, model: EmbeddingSpace, mean: Matrix, hidden: tuple[str, ...]) -> None:
        self.mean = mean
        mean_norm = float(np.linalg.norm(model.matrix, axis=1).mean())
        self.min_norm = MIN_RELATIVE_NORM * mean_norm
        self.candidates = self._centered(model.matrix)
        self.own = model.rows(hidden)

    def judge(self, rows: Matrix) -> tuple[Matrix, NDArray[np.float64]]:
        """Return the centered cosine (n,) of each embedding to the true one, and the rank (n,) of
        the true one.

        The rank is the number of old embeddings that are nearer; ties count half.
        """
        # In blocks: the matrix of all similarities would take too much memory.
        queries = self._centered(rows)
        cosines = np.einsum("ij,ij->i", queries, self.candidates[self.own])
        ranks = np.empty(len(rows))
        for span in iterate_blocks(len(rows), len(self.candidates)):
            similar = queries[span] @ self.candidates.T
            own = similar[np.arange(len(similar)), self.own[span]][:, None]
            # One of the ties is the true embedding itself; the others count half.
            ranks[span] = (similar > own).sum(axis=1) + ((similar == own).sum(axis=1) - 1) / 2
        return cosines, ranks

    def _centered(self, rows: Matrix) -> Matrix:
        """Center rows and scale them to norm 1; a row equal to the mean becomes zero."""
        centered: Matrix = rows - self.mean
        centered[np.linalg.norm(centered, axis=1) <= self.min_norm] = 0
        return normalize_rows(centered)


def weight_like_new_tokens(
    materials: Materials, hidden: tuple[str, ...], visible: Materials
) -> tuple[FloatArray, float]:
    """Return weights (n,) of hidden tokens with which their counts, numbers of pieces and lengths
    of the first piece are those of the new tokens, and the fraction of the new tokens with which a
    hidden one has these in common.

    In a space without counts, all tokens count as equally frequent.
    """
    of_hidden = _find_cells(visible, hidden)
    return compute_matching_weights(
        of_hidden, _find_cells(materials, materials.plan.new_embeddings)
    )


def _find_cells(materials: Materials, tokens: tuple[str, ...]) -> IntArray:
    """Return the cells of tokens by count, number of pieces and length of the first one, (n,)."""
    base, space = materials.plan.base, materials.similarity_space
    pieces = [base.tokenize_token(token, without=True) for token in tokens]
    counts = np.ones(len(tokens), dtype=np.int64)
    if space.counts is not None:
        found = np.array([token in space for token in tokens], dtype=bool)
        counts[found] = space.counts[space.rows([token for token in tokens if token in space])]
    return find_cells(base, tokens, pieces, counts)


class NewTokenJudge:
    """Compares the norms of new embeddings with those of old ones, and their neighbors with those
    in the target space.
    """

    def __init__(self, materials: Materials, k: int) -> None:
        space, self.model = materials.similarity_space, materials.model
        # Untrained embeddings, such as that of [unused1], do not have typical norms.
        old = list_trained_tokens(materials.plan, self.model)
        old_norms = np.linalg.norm(self.model.matrix[self.model.rows(old)], axis=1)
        self.mean_norm = float(old_norms.mean())
        self.new = tuple(
            token for token in materials.plan.new_embeddings if has_vector(space, token)
        )
        self.donors = materials.donors
        self.judged = materials.plan.new_embeddings
        # Common tokens come first, followed by the new ones, whose rows are `new_rows`.
        self.names = self.donors + self.new
        self.new_rows = np.arange(len(self.donors), len(self.names))
        self.k = min(k, len(self.names) - 1)
        if self.new:
            self.target_neighbors = self._find_neighbors(space.matrix[space.rows(self.names)])

    def compute_norm_ratio(self, made: NewEmbeddings) -> float:
        """Return the mean norm of the new embeddings divided by that of the old ones."""
        norms = np.linalg.norm(_select_rows(made, self.judged), axis=1)
        return float(norms.mean()) / self.mean_norm

    def compute_overlap(self, made: NewEmbeddings) -> float | None:
        """Return the mean fraction of the k nearest neighbors of a new token in the target space
        that are also among its k nearest in the model.

        None if no new token has a vector in the target space.
        """
        if not self.new:
            return None
        old = self.model.matrix[self.model.rows(self.donors)]
        neighbors = self._find_neighbors(np.vstack([old, _select_rows(made, self.new)]))
        pairs = zip(self.target_neighbors.tolist(), neighbors.tolist(), strict=True)
        return float(np.mean([len(set(a) & set(b)) for a, b in pairs])) / self.k

    def _find_neighbors(self, matrix: Matrix) -> NDArray[np.int64]:
        """Return the rows of each new token's k nearest neighbors in a matrix of all tokens."""
        space = EmbeddingSpace(self.names, matrix)
        rows = self.new_rows
        return find_nearest(matrix[rows], space, self.k, leave_out=rows).rows


def _select_rows(made: NewEmbeddings, tokens: tuple[str, ...]) -> Matrix:
    row_of = {token: row for row, token in enumerate(made.tokens)}
    rows: Matrix = made.matrix[[row_of[token] for token in tokens]]
    return rows
