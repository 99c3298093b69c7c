"""Geometry of one space: isotropy, hubness, norms, and their correlation with frequency.

Zero vectors have no direction: they are excluded, and counted in `Norms`. Hubness is not that of
CSLS (`neighbors.search`), which is a mean cosine.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.diagnostics.statistics import compute_spearman, sum_directions
from vocadapt.spaces.neighbors.search import find_nearest
from vocadapt.spaces.space import EmbeddingSpace, FloatArray, IntArray, Matrix
from vocadapt.system.forecasts import Work

HUB_K = 10  # number of neighbors, as in Radovanović et al. 2010
HUBS = 12  # number of hubs to list
ROWS = 4096  # rows multiplied by the directions at a time
# Seconds of hubness on two cores: per multiplication of a similarity, and per similarity to select.
SECONDS = (1.5e-11, 4e-9)


@dataclass(frozen=True)
class Isotropy:
    """How evenly the vectors are distributed over all directions; None for too few vectors, or if
    not measured.

    partition: I(W) = min Z(c) / max Z(c) with Z(c) = Σ exp(c·w) over the eigenvectors c of WᵀW,
    both signs of each (Mu and Viswanath 2018, All-but-the-Top, section 3.1), on unit vectors, which
    makes spaces with different norms comparable; 1 is isotropic.
    partition_as_published: the same without normalizing the rows. isoscore: IsoScore of the rows
    without normalizing (Rudman et al. 2022), 0 if all variance is in one direction, 1 if it is
    equal in all; it does not depend on the mean. first_direction: the fraction of the unit rows'
    squared length along their first principal direction, 1/dim if all directions are equal.
    """

    partition: float | None
    partition_as_published: float | None
    isoscore: float | None
    first_direction: float | None


@dataclass(frozen=True)
class Hubness:
    """Hubness by k-occurrences: N_k of a row is the number of rows with it among their k nearest.

    skewness of N_k over the rows (Radovanović et al. 2010, Hubs in space); None if all are equal.
    largest: the greatest N_k. never: the fraction of rows that are no row's neighbor. hubs: the
    words with the largest N_k, with that number.
    """

    k: int
    skewness: float | None
    largest: int
    never: float
    hubs: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Norms:
    """Norms of the `n` nonzero vectors: mean, standard deviation, 5th, 50th and 95th percentile."""

    n: int
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


@dataclass(frozen=True, eq=False)
class NormBands:
    """Norms in groups of equal size by frequency: position and 5th, 50th and 95th percentile."""

    place: FloatArray
    low: FloatArray
    median: FloatArray
    high: FloatArray


def measure_isotropy(space: EmbeddingSpace, unnormalized: bool = True) -> Isotropy:
    """Measure the isotropy of a space; unnormalized: also that of the rows as they are, which takes
    twice as long again.
    """
    space = drop_zero_rows(space)
    if len(space) < 2:
        return Isotropy(None, None, None, None)
    # 1. Principal directions of the unit rows.
    values, vectors = np.linalg.eigh(_compute_gram(space.unit))
    partition = _compute_partition_ratio(space.unit, vectors)
    first_direction = float(values[-1] / values.sum())
    if not unnormalized:
        return Isotropy(partition, None, None, first_direction)

    # 2. The same without normalizing: WᵀW follows from the centered rows, without another pass.
    mean = space.matrix.mean(axis=0, dtype=np.float64)
    centered = _compute_gram(space.matrix - mean.astype(np.float32))
    raw = centered + len(space) * np.outer(mean, mean)
    return Isotropy(
        partition,
        _compute_partition_ratio(space.matrix, np.linalg.eigh(raw)[1]),
        _compute_isoscore(np.linalg.eigvalsh(centered).astype(np.float64)),
        first_direction,
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
    return Hubness(
        min(k, len(space) - 1),
        _compute_skewness(times),
        int(times.max()),
        never=float((times == 0).mean()),
        hubs=tuple((space.words[row], int(times[row])) for row in order),
    )


def count_k_occurrences(
    space: EmbeddingSpace, k: int = HUB_K, progress: Progress = silent
) -> IntArray:
    """Count for each row the other rows with it among their k nearest by cosine (words,) int64."""
    own = np.arange(len(space))
    found = find_nearest(
        space.unit, space, k, leave_out=own, progress=part(progress, 0, 1, "measuring hubness")
    )
    return np.bincount(found.rows.ravel(), minlength=len(space))


def measure_hubness_work(space: EmbeddingSpace) -> Work:
    """Return the work of `measure_hubness` on a space; at least a second."""
    seconds = len(space) ** 2 * (space.dim * SECONDS[0] + SECONDS[1])
    return Work(len(space), "tokens", max(1.0, seconds))


def measure_norms(space: EmbeddingSpace) -> Norms:
    """Summarize the norms of a space's vectors; all 0 if every vector is zero."""
    lengths = sum_directions(space).lengths
    found = lengths[lengths > 0]
    if not len(found):
        return Norms(0, 0.0, 0.0, 0.0, 0.0, 0.0, len(lengths))
    low, median, high = np.percentile(found, (5, 50, 95))
    return Norms(
        len(found),
        float(found.mean()),
        float(found.std()),
        float(low),
        float(median),
        float(high),
        len(lengths) - len(found),
    )


def get_frequencies(space: EmbeddingSpace) -> tuple[str, FloatArray]:
    """Return name and values (words,) float64 of the frequency: counts, else the negative id."""
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
    if added:
        space = space.take([row for row, word in enumerate(space.words) if word not in added])
    space = drop_zero_rows(space)
    by, frequency = get_frequencies(space)
    found = sum_directions(space)
    along_mean = (space.unit @ found.total.astype(np.float32)).astype(np.float64)
    return FrequencyBias(
        by,
        len(space),
        compute_spearman(frequency, found.lengths),
        compute_spearman(frequency, along_mean),
    )


def compute_norm_bands(space: EmbeddingSpace, groups: int = 40) -> NormBands:
    """Compute norms by frequency in about `groups` groups, each at its median count or id."""
    by, frequency = get_frequencies(space)
    lengths = sum_directions(space).lengths
    positions = np.arange(len(space), dtype=np.float64)
    if by == "counts":
        positions = frequency
    order = np.argsort(-frequency, kind="stable")
    order = order[lengths[order] > 0]
    parts = [part for part in np.array_split(order, groups) if len(part)]
    place = np.array([np.median(positions[part]) for part in parts])
    bands = np.array([np.percentile(lengths[part], (5, 50, 95)) for part in parts]).reshape(-1, 3)
    return NormBands(place, *bands.T)


def drop_zero_rows(space: EmbeddingSpace) -> EmbeddingSpace:
    """Return the space without its zero vectors."""
    nonzero = np.flatnonzero(space.matrix.any(axis=1))
    if len(nonzero) == len(space):
        return space
    return space.take(nonzero)


def _compute_gram(rows: Matrix) -> FloatArray:
    """Return WᵀW (dim, dim) float64 of rows W (n, dim) float32."""
    return np.asarray((rows.T @ rows).astype(np.float64))


def _compute_partition_ratio(rows: Matrix, vectors: FloatArray) -> float:
    """Return min Z(c) / max Z(c) over the columns c of `vectors` (dim, dim) and their opposites.

    Computed in logarithms, because exp(c·w) of a long row w would overflow.
    """
    log_z = np.full((2, vectors.shape[1]), -np.inf)
    for start in range(0, len(rows), ROWS):
        inner = rows[start : start + ROWS] @ vectors.astype(np.float32)
        for side, signed in enumerate((inner, -inner)):
            # Add the sum of this block to that of the previous blocks, in logarithms.
            top = signed.max(axis=0)
            log_sum = top + np.log(np.exp(signed - top).sum(axis=0, dtype=np.float64))
            log_z[side] = np.logaddexp(log_z[side], log_sum)
    return float(np.exp(log_z.min() - log_z.max()))


def _compute_isoscore(variances: FloatArray) -> float | None:
    """Compute IsoScore from the variances (dim,) along the principal components.

    Returns None for one dimension, or rows that are all equal.
    """
    variances, dim = np.maximum(variances, 0), len(variances)
    size = np.linalg.norm(variances)
    if dim < 2 or size == 0:
        return None
    # The names are those of Rudman et al.: isotropy defect, fraction of dimensions utilized.
    defect = np.linalg.norm(np.sqrt(dim) * variances / size - 1) / np.sqrt(2 * (dim - np.sqrt(dim)))
    filled = (dim - defect**2 * (dim - np.sqrt(dim))) ** 2 / dim**2
    return float((dim * filled - 1) / (dim - 1))


def _compute_skewness(values: IntArray) -> float | None:
    """Compute the third standardized moment of the values (n,); None if they are all equal."""
    deviations = values - values.mean()
    sd = deviations.std()
    if sd == 0:
        return None
    return float((deviations**3).mean() / sd**3)
