"""References for judging initialized embeddings: true embeddings of hidden tokens, neighbors of new
ones.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.spaces.neighbors.search import find_nearest, iterate_blocks
from vocadapt.spaces.space import EmbeddingSpace, Matrix, normalize_rows
from vocadapt.vocabulary.initializers.initialize import Materials, NewEmbeddings
from vocadapt.vocabulary.initializers.materials import has_vector, list_trained_tokens
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

HELD_OUT = 500  # number of hidden tokens by default
MAX_HELD_OUT = 0.25  # maximum fraction of the common tokens that is hidden by default
NO_LENGTH = 1e-5  # of the mean norm: a shorter centered embedding equals the mean, but for rounding


def choose_hidden_tokens(
    materials: Materials, n: int = 0, seed: int = 1
) -> tuple[tuple[str, ...], int]:
    """Choose `n` common tokens to hide (0: 500, or a quarter of them); also return how many there
    are.

    Only tokens of two characters or more are hidden: the others can then still be spelled. Raises
    InputError if less than half would remain.
    """
    pool = [token for token in materials.donors if len(materials.plan.base.body(token)) > 1]
    n = n or min(HELD_OUT, int(MAX_HELD_OUT * len(pool)))
    if not 0 < n <= len(pool) // 2:
        raise InputError(
            f"Cannot hide {n:,} of {len(pool):,} common tokens of two characters or more: half of"
            " them must stay.",
            "Hide fewer, or give a target that has more tokens in common with the model.",
        )
    drawn = np.random.default_rng(seed).choice(len(pool), n, replace=False)
    return tuple(pool[i] for i in sorted(drawn)), len(pool)


def materials_without(materials: Materials, hidden: tuple[str, ...]) -> Materials:
    """Return the materials of a model without these tokens, and the plan that adds them again."""
    gone = frozenset(hidden)
    visible = [row for row, token in enumerate(materials.model.words) if token not in gone]
    plan = VocabularyPlan(
        materials.plan.base.without(gone), tuple(AddedWord(token, ()) for token in hidden)
    )
    return replace(materials, plan=plan, model=materials.model.take(visible), alignment=None)


def sample_materials(materials: Materials, most: int, seed: int) -> Materials:
    """Return the materials of a plan with at most `most` new embeddings, sampled by seed."""
    plan = materials.plan
    # A permutation, not a choice: a larger sample of the same seed contains the smaller one.
    drawn = np.random.default_rng(seed).permutation(len(plan.new_embeddings))[:most]
    some = frozenset(plan.new_embeddings[i] for i in drawn)
    stays = some.union(plan.kept)
    added = tuple(word for word in plan.added if word.token in some)
    replaced = tuple(token for token in plan.replaced if token in some)
    order = tuple(token for token in plan.tokens if token in stays)
    return replace(materials, plan=replace(plan, added=added, replaced=replaced, order=order))


class TrueEmbeddings:
    """The true embeddings of hidden tokens among all old ones, centered at the mean of the visible
    ones.
    """

    def __init__(self, model: EmbeddingSpace, mean: Matrix, hidden: tuple[str, ...]) -> None:
        self.mean = mean
        self.min_length = NO_LENGTH * float(np.linalg.norm(model.matrix, axis=1).mean())
        self.candidates = self._centered(model.matrix)
        self.own = model.rows(hidden)

    def judge(self, rows: Matrix) -> tuple[Matrix, NDArray[np.float64]]:
        """Return the centered cosine (n,) of each embedding to the true one, and its rank (n,)
        among old ones.

        The rank is the number of old embeddings that are nearer; ties count half.
        """
        # In blocks, for the similarities of all to all would take too much memory.
        queries = self._centered(rows)
        cosines = np.einsum("ij,ij->i", queries, self.candidates[self.own])
        ranks = np.empty(len(rows))
        for span in iterate_blocks(len(rows), len(self.candidates)):
            similar = queries[span] @ self.candidates.T
            own = similar[np.arange(len(similar)), self.own[span]][:, None]
            # The true embedding is equal to itself: one less, and half of the rest.
            ranks[span] = (similar > own).sum(axis=1) + ((similar == own).sum(axis=1) - 1) / 2
        return cosines, ranks

    def _centered(self, rows: Matrix) -> Matrix:
        """Center rows and scale them to length 1; a row equal to the mean becomes zero."""
        centered: Matrix = rows - self.mean
        centered[np.linalg.norm(centered, axis=1) <= self.min_length] = 0
        return normalize_rows(centered)


class NewTokenJudge:
    """Compares new embeddings with the norms of old ones and with their neighbors in the target
    space.
    """

    def __init__(self, materials: Materials, k: int) -> None:
        space, self.model = materials.similarity_space, materials.model
        # Rows that were never trained, such as [unused1], say nothing about the norms of a model.
        old = list_trained_tokens(materials.plan, self.model)
        self.length = float(np.linalg.norm(self.model.matrix[self.model.rows(old)], axis=1).mean())
        self.new = tuple(
            token for token in materials.plan.new_embeddings if has_vector(space, token)
        )
        self.donors = materials.donors
        self.judged = materials.plan.new_embeddings
        # Common tokens come first, new ones behind them: `places` are the rows of the new ones.
        self.names = self.donors + self.new
        self.places = np.arange(len(self.donors), len(self.names))
        self.k = min(k, len(self.names) - 1)
        if self.new:
            self.wanted = self._nearest(space.matrix[space.rows(self.names)])

    def norm_ratio(self, made: NewEmbeddings) -> float:
        """Return the mean norm of the new embeddings divided by that of the old ones."""
        return float(np.linalg.norm(_select_rows(made, self.judged), axis=1).mean()) / self.length

    def overlap(self, made: NewEmbeddings) -> float | None:
        """Return the fraction of k nearest neighbors that target space and model have in common.

        None if no new token has a vector in the target space.
        """
        if not self.new:
            return None
        old = self.model.matrix[self.model.rows(self.donors)]
        found = self._nearest(np.vstack([old, _select_rows(made, self.new)]))
        pairs = zip(self.wanted.tolist(), found.tolist(), strict=True)
        return float(np.mean([len(set(a) & set(b)) for a, b in pairs])) / self.k

    def _nearest(self, matrix: Matrix) -> NDArray[np.int64]:
        return find_nearest(
            matrix[self.places], EmbeddingSpace(self.names, matrix), self.k, leave_out=self.places
        ).rows


def _select_rows(made: NewEmbeddings, tokens: tuple[str, ...]) -> Matrix:
    place = {token: row for row, token in enumerate(made.tokens)}
    rows: Matrix = made.matrix[[place[token] for token in tokens]]
    return rows
