"""Geometry of one space: isotropy, hubness, norms, and their correlation with frequency.

A zero vector has no direction: it is excluded, and counted in `Norms`.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vocadapt.progress import Progress, silent
from vocadapt.spaces.diagnostics.correlation import compute_spearman
from vocadapt.spaces.diagnostics.mean_cosines import sum_directions
from vocadapt.spaces.neighbors.search import BLOCK, find_nearest
from vocadapt.spaces.space import EmbeddingSpace, Matrix

Values = NDArray[np.float64]
HUB_K = 10  # of N_k: Radovanović et al. use 10
HUBS = 12  # words named
ROWS = 4096  # projected at a time
SECONDS = (
    1.5e-11,
    4e-9,
)  # of hubness, on two cores: a multiplication of a similarity, the choice among similarities


@dataclass(frozen=True)
class Isotropy:
    """How evenly the vectors are distributed over all directions; None for too few vectors.

    partition: I(W) = min Z(c) / max Z(c) with Z(c) = Σ exp(c·w) over the eigenvectors c of WᵀW,
    both signs of each (Mu and Viswanath 2018, All-but-the-Top, section 3.1), on rows of length 1,
    so that spaces of other lengths compare; 1 is isotropic.
    partition_as_published: the same on the rows as they are. isoscore: IsoScore of the rows as they
    are (Rudman et al. 2022), 0 for one direction only, 1 for an even covariance; blind to a mean
    that is not 0. first_direction: the share of the unit rows' squared length along their first
    principal direction, 1/dim where all are even.
    """

    partition: float | None
    partition_as_published: float | None
    isoscore: float | None
    first_direction: float | None


@dataclass(frozen=True)
class Hubness:
    """Hubness by k-occurrences: N_k of a row is the number of rows with it among their k nearest.

    skewness of N_k over the rows (Radovanović et al. 2010, Hubs in space); None where all are
    equal. largest: the greatest N_k.
    never: the share of rows nobody has as a neighbor. hubs: the words with the largest N_k, and
    that number.
    """

    k: int
    skewness: float | None
    largest: int
    never: float
    hubs: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Norms:
    """Norms of the nonzero vectors: mean, standard deviation, 5th, 50th and 95th percentile."""

    mean: float
    sd: float
    low: float
    median: float
    high: float
    zero_rows: int


@dataclass(frozen=True)
class FrequencyBias:
    """Spearman correlation of frequency with the norm of an embedding and with its cosine to the
    mean direction.

    by: "counts", or "id rank" if the space has no counts: a lower id then approximates a higher
    frequency, as in WordPiece vocabularies, except for added tokens. n: number of tokens, added
    tokens excluded.
    """

    by: str
    n: int
    norm: float | None
    mean_direction: float | None


@dataclass(frozen=True)
class AddedNorms:
    """Median norms of the embeddings of added and of original tokens, and their numbers."""

    n: int
    median: float
    original_n: int
    original_median: float


@dataclass(frozen=True, eq=False)
class NormBands:
    """Norms in groups of equal size by frequency: position and 5th, 50th and 95th percentile."""

    place: Values
    low: Values
    median: Values
    high: Values


def measure_isotropy(space: EmbeddingSpace) -> Isotropy:
    """Measure the isotropy of a space."""
    space = drop_zero_rows(space)
    if len(space) < 2:
        return Isotropy(None, None, None, None)
    values, vectors = np.linalg.eigh(_products(space.unit))
    mean = space.matrix.mean(axis=0, dtype=np.float64)
    centered = _products(space.matrix - mean.astype(np.float32))
    raw = centered + len(space) * np.outer(mean, mean)  # WᵀW, without a second pass over the rows
    return Isotropy(
        _partition_ratio(space.unit, vectors),
        _partition_ratio(space.matrix, np.linalg.eigh(raw)[1]),
        _isoscore(np.linalg.eigvalsh(centered).astype(np.float64)),
        float(values[-1] / values.sum()),
    )


def measure_hubness(
    space: EmbeddingSpace, k: int = HUB_K, progress: Progress = silent
) -> Hubness | None:
    """Summarize the k-occurrences of a space; None for fewer than two nonzero vectors."""
    space = drop_zero_rows(space)
    if len(space) < 2:
        return None
    times = count_k_occurrences(space, k, progress)
    order = np.argsort(-times, kind="stable")[:HUBS]
    hubs = tuple((space.words[row], int(times[row])) for row in order)
    return Hubness(
        min(k, len(space) - 1), _skewness(times), int(times.max()), float((times == 0).mean()), hubs
    )


def count_k_occurrences(
    space: EmbeddingSpace, k: int = HUB_K, progress: Progress = silent
) -> NDArray[np.int64]:
    """Count for each row the other rows with it among their k nearest by cosine (words,) int64."""
    times, step = np.zeros(len(space), dtype=np.int64), max(1, BLOCK // len(space))
    for start in range(0, len(space), step):
        progress(start / len(space), "looking for hubs")
        own = np.arange(start, min(start + step, len(space)))
        found = find_nearest(space.unit[own], space, k, leave_out=own)
        times += np.bincount(found.rows.ravel(), minlength=len(space))
    return times


def estimate_hubness_seconds(space: EmbeddingSpace) -> float:
    """About how long `measure_hubness` takes on a space."""
    return len(space) ** 2 * (space.dim * SECONDS[0] + SECONDS[1])


def measure_norms(space: EmbeddingSpace) -> Norms:
    """Summarize the norms of a space's vectors; all 0 if every vector is zero."""
    lengths = sum_directions(space).lengths
    found = lengths[lengths > 0]
    if not len(found):
        return Norms(0.0, 0.0, 0.0, 0.0, 0.0, len(lengths))
    low, median, high = np.percentile(found, (5, 50, 95))
    return Norms(
        float(found.mean()),
        float(found.std()),
        float(low),
        float(median),
        float(high),
        len(lengths) - len(found),
    )


def get_frequencies(space: EmbeddingSpace) -> tuple[str, Values]:
    """Return the name and values (words,) float64 of the frequency: counts, else the negative id."""
    if space.counts is not None:
        return "counts", space.counts.astype(np.float64)
    return "id rank", -np.arange(len(space), dtype=np.float64)


def measure_frequency_bias(
    space: EmbeddingSpace, added: Collection[str] = frozenset()
) -> FrequencyBias:
    """Correlate frequency with the norms and directions of the embeddings of the original tokens.

    added: tokens to exclude. They have the highest ids and were initialized, not pretrained, so
    they alone could produce a correlation with the id.
    """
    space = _without(space, added)
    by, frequency = get_frequencies(space)
    found = sum_directions(space)
    some = found.lengths > 0
    lengths, frequency = found.lengths[some], frequency[some]
    along = (space.unit[some] @ found.total.astype(np.float32)).astype(np.float64)
    return FrequencyBias(
        by, len(lengths), compute_spearman(frequency, lengths), compute_spearman(frequency, along)
    )


def compare_added_norms(space: EmbeddingSpace, added: Collection[str]) -> AddedNorms | None:
    """Compare the norms of added and original embeddings; None if either side has no nonzero
    embedding.
    """
    lengths = sum_directions(space).lengths
    is_added = np.array([word in added for word in space.words], dtype=bool)
    new, original = lengths[is_added & (lengths > 0)], lengths[~is_added & (lengths > 0)]
    if not len(new) or not len(original):
        return None
    return AddedNorms(len(new), float(np.median(new)), len(original), float(np.median(original)))


def compute_norm_bands(space: EmbeddingSpace, groups: int = 40) -> NormBands:
    """Compute norms by frequency in about `groups` groups, each placed at its median count or id."""
    by, frequency = get_frequencies(space)
    lengths = sum_directions(space).lengths
    order = [row for row in np.argsort(-frequency, kind="stable") if lengths[row] > 0]
    parts = [part for part in np.array_split(np.array(order, dtype=np.int64), groups) if len(part)]
    place = np.array([np.median(frequency[part] if by == "counts" else part) for part in parts])
    bands = np.array([np.percentile(lengths[part], (5, 50, 95)) for part in parts]).reshape(-1, 3)
    return NormBands(place, *bands.T)


def _without(space: EmbeddingSpace, added: Collection[str]) -> EmbeddingSpace:
    """Return the space without some tokens."""
    rows = [row for row, word in enumerate(space.words) if word not in added]
    return space if len(rows) == len(space) else space.take(rows)


def drop_zero_rows(space: EmbeddingSpace) -> EmbeddingSpace:
    """Return the space without its zero vectors."""
    some = np.flatnonzero(space.matrix.any(axis=1))
    return space if len(some) == len(space) else space.take(some)


def _products(rows: Matrix) -> Values:
    """WᵀW (dim, dim)."""
    products: Values = (rows.T @ rows).astype(np.float64)
    return products


def _partition_ratio(rows: Matrix, vectors: Values) -> float:
    """Min Z(c) / max Z(c) over these columns c and their opposites, in logarithms: exp of a long
    row would overflow.
    """
    log_z = np.full((2, vectors.shape[1]), -np.inf)
    for start in range(0, len(rows), ROWS):
        inner = rows[start : start + ROWS] @ vectors.astype(np.float32)
        for side, signed in enumerate((inner, -inner)):
            top = signed.max(axis=0)
            log_z[side] = np.logaddexp(
                log_z[side], top + np.log(np.exp(signed - top).sum(axis=0, dtype=np.float64))
            )
    return float(np.exp(log_z.min() - log_z.max()))


def _isoscore(variances: Values) -> float | None:
    """IsoScore from the variances (dim,) along the principal components; None for one dimension, or
    rows that are all equal.
    """
    variances, dim = np.maximum(variances, 0), len(variances)
    size = np.linalg.norm(variances)
    if dim < 2 or size == 0:
        return None
    defect = np.linalg.norm(np.sqrt(dim) * variances / size - 1) / np.sqrt(2 * (dim - np.sqrt(dim)))
    filled = (dim - defect**2 * (dim - np.sqrt(dim))) ** 2 / dim**2
    return float((dim * filled - 1) / (dim - 1))


def _skewness(values: NDArray[np.int64]) -> float | None:
    """The third standardized moment over all values; None where they are all equal."""
    away = values - values.mean()
    sd = away.std()
    return float((away**3).mean() / sd**3) if sd > 0 else None
