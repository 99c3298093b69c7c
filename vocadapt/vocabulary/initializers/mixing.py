"""Compute embeddings as weighted sums of old embeddings, with the donors and weights as provenance;
most initializers use these functions.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vocadapt.spaces.neighbors.search import iterate_blocks
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.system.cores import count_cores
from vocadapt.vocabulary.initializers.materials import (
    NO_VECTOR,
    Donors,
    Initialized,
    Materials,
    Provenance,
    compute_mean_embedding,
    has_vector,
)

GROUP_SIZE = 16  # columns of a group, whose maximum is computed
N_THREADS = 2  # number of blocks that are mixed in parallel
COLUMNS = 128  # columns of the donor embeddings that are summed together


@dataclass(frozen=True, eq=False)
class Mix:
    """Donors of new embeddings and their weights.

    donors: (n, k) int64, column numbers; weights: (n, k) float32. Entries of weight 0 are padding.
    """

    donors: NDArray[np.int64]
    weights: Matrix


def mix_embeddings(
    names: Sequence[str], donor_rows: Matrix, parts: Sequence[Mix], how: str
) -> Initialized:
    """Compute mixed embeddings, (n, dim) float32, and their provenance.

    names: donor tokens; donor_rows: (donors, dim) float32, their embeddings.
    parts: consecutive blocks of the mixes, n rows in all.
    """
    from scipy.sparse import csr_array

    # 1. Concatenate the donors of all mixes without padding; those of mix i are
    #    starts[i]:starts[i + 1] (compressed sparse rows).
    used = [part.weights != 0 for part in parts]
    counts = np.concatenate([np.zeros(1, np.int64), *(mask.sum(axis=1) for mask in used)])
    starts = np.cumsum(counts)
    columns = np.concatenate([part.donors[mask] for part, mask in zip(parts, used, strict=True)])
    weights = np.concatenate([part.weights[mask] for part, mask in zip(parts, used, strict=True)])
    # 2. Compute the weighted sums, in blocks of columns that fit into the processor's cache, and
    #    the provenance.
    mix = csr_array(
        (weights.astype(np.float32), columns, starts), shape=(len(starts) - 1, len(donor_rows))
    )
    rows = np.empty((len(starts) - 1, donor_rows.shape[1]), np.float32)
    for first in range(0, donor_rows.shape[1], COLUMNS):
        block = slice(first, first + COLUMNS)
        rows[:, block] = mix @ np.ascontiguousarray(donor_rows[:, block])
    provenance: list[Provenance] = []
    for start, end in pairwise(starts.tolist()):
        provenance.append(Provenance(how, Donors(names, columns[start:end], weights[start:end])))
    return rows, tuple(provenance)


def mix_similar_tokens(
    materials: Materials, choose: Callable[[Matrix], Mix], how: str
) -> Initialized:
    """Mix the embeddings of common tokens by their cosine to each new token in the target space.

    choose: computes a Mix from similarities (block, common tokens). It is called for one block of
        new tokens at a time, to limit the memory.
    """
    space, names = materials.similarity_space, materials.donors
    common = space.unit[space.rows(names)]

    def make(tokens: tuple[str, ...]) -> Initialized:
        from threadpoolctl import threadpool_limits

        new = space.unit[space.rows(tokens)]

        def mix_block(block: slice) -> Mix:
            return choose(new[block] @ common.T)

        # Mix N_THREADS blocks in parallel: donors are selected outside of BLAS, and a single block
        # would leave cores idle meanwhile.
        blocks = iterate_blocks(len(new), len(common))
        threads = count_cores() // N_THREADS or 1
        with threadpool_limits(threads), ThreadPoolExecutor(N_THREADS) as pool:
            parts = list(pool.map(mix_block, blocks))
        return mix_embeddings(
            names, materials.model.matrix[materials.model.rows(names)], parts, how
        )

    return initialize_with_fallback(materials, space, make)


def initialize_with_fallback(
    materials: Materials, space: EmbeddingSpace, make: Callable[[tuple[str, ...]], Initialized]
) -> Initialized:
    """Initialize the tokens of `plan.new_embeddings` that have a vector in a space by `make`, and
    the others by the mean of their pieces, marked as a fallback in the provenance.
    """
    # 1. Initialize the tokens with a vector, and the others.
    tokens = materials.plan.new_embeddings
    first = tuple(token for token in tokens if has_vector(space, token))
    others = tuple(token for token in tokens if not has_vector(space, token))
    matrices: list[Matrix] = []
    sources: list[Provenance] = []
    if first:
        embeddings, provenance = make(first)
        matrices.append(embeddings)
        sources.extend(provenance)
    if others:
        embeddings, provenance = average_pieces(materials, others)
        matrices.append(embeddings)
        for source in provenance:
            sources.append(Provenance(f"{NO_VECTOR}: {source.how}", source.donors, fallback=True))
    if not matrices:
        return np.empty((0, materials.model.dim), np.float32), ()
    # 2. Sort both groups into the order of the tokens.
    place = {token: i for i, token in enumerate((*first, *others))}
    order = [place[token] for token in tokens]
    return np.concatenate(matrices)[order], tuple(sources[i] for i in order)


def average_pieces(materials: Materials, tokens: Sequence[str]) -> Initialized:
    """Return the mean of the embeddings of each token's pieces, (tokens, dim) float32.

    Tokens that the model cannot spell get the mean of all embeddings.
    """
    # 1. Average the pieces of each token with equal weights: 0 if the model cannot spell it.
    base, model = materials.plan.base, materials.model
    tokenized = [base.tokenize_token(token) for token in tokens]
    spelled = [bool(pieces) and base.unknown not in pieces for pieces in tokenized]
    shape = (len(tokenized), max(map(len, tokenized), default=1))
    donors = np.zeros(shape, np.int64)
    weights = np.zeros(shape, np.float32)
    for row, (pieces, is_spelled) in enumerate(zip(tokenized, spelled, strict=True)):
        if is_spelled:
            donors[row, : len(pieces)] = [model.index[piece] for piece in pieces]
            weights[row, : len(pieces)] = 1 / len(pieces)
    embeddings, sources = mix_embeddings(
        model.words, model.matrix, [Mix(donors, weights)], "mean of its pieces"
    )
    # 2. Use the mean of all embeddings for the others: the embedding of the unknown token is not
    #    related to them.
    embeddings[~np.array(spelled, dtype=bool)] = compute_mean_embedding(model)
    unspelled = Provenance("global mean: the model cannot spell it", fallback=True)
    provenance: list[Provenance] = []
    for source, is_spelled in zip(sources, spelled, strict=True):
        provenance.append(source if is_spelled else unspelled)
    return embeddings, tuple(provenance)


def select_above_bound(similarities: Matrix, bound: Matrix) -> tuple[NDArray[np.int64], Matrix]:
    """Return the columns and values that reach the bound of each row, (rows, most), best first.

    similarities: (rows, columns) float32; bound: (rows,) float32. Ties are sorted by column. Rows
    are padded with column 0 and −∞.

    Example: row [.1 .9 .4], bound .3 → columns [1 2], values [.9 .4].
    """
    # 1. Find the values in the flattened matrix; np.nonzero on two dimensions is slower.
    flat = np.flatnonzero(similarities >= bound[:, None])
    rows, columns = np.divmod(flat, similarities.shape[1])
    # 2. Number them within each row, and write them into a padded matrix.
    counts = np.bincount(rows, minlength=len(similarities))
    first_of_row = np.cumsum(counts) - counts
    place = np.arange(len(rows)) - np.repeat(first_of_row, counts)
    shape = (len(similarities), int(counts.max(initial=1)))
    found = np.zeros(shape, np.int64)
    values = np.full(shape, -np.inf, np.float32)
    found[rows, place] = columns
    values[rows, place] = similarities[rows, columns]
    # 3. Sort each row.
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(values, order, axis=1)


def compute_group_maxima(similarities: Matrix) -> Matrix:
    """Compute the maxima of disjoint groups of columns, (rows, groups).

    The k-th largest maximum of a row is a lower bound of its k-th largest value.
    """
    count = similarities.shape[1]
    step = -(-count // GROUP_SIZE)
    maxima = similarities[:, :step].copy()
    for start in range(step, count, step):
        part = similarities[:, start : start + step]
        np.maximum(maxima[:, : part.shape[1]], part, out=maxima[:, : part.shape[1]])
    return maxima
