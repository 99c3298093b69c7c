"""Diagnosis of a space: its geometry as a row of a table, and what it shows in sentences."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vocadapt.progress import Progress, part, silent
from vocadapt.report.formats import format_precise
from vocadapt.report.table import Column, Finding, Table
from vocadapt.spaces.diagnostics.geometry import (
    HUB_K,
    FrequencyBias,
    Hubness,
    Isotropy,
    Norms,
    measure_frequency_bias,
    measure_hubness,
    measure_isotropy,
    measure_norms,
)
from vocadapt.spaces.diagnostics.statistics import CosineTables, compute_mean_cosine
from vocadapt.spaces.space import EmbeddingSpace

# Thresholds of the findings:
NARROW_CONE, COMMON_DIRECTION = 0.3, 0.1  # mean cosine
UNEVEN = 3.0  # ratio of the median norm to its 5th percentile
WEAK = 0.1  # Spearman's correlation
SKEWED = 5.0  # skewness of N_k
ALIKE = 0.1  # largest difference from 1 of a ratio that counts as equal

MEAN_COSINE = Column(
    "mean_cosine",
    "Mean cosine",
    "Mean cosine of two different tokens, over all pairs (Fast 2023, table 3.2). Near 0: the"
    " vectors point in all directions. Near 1: they all point in one direction, so cosines are hard"
    " to interpret.",
    "precise",
)
ISOTROPY = Column(
    "isotropy.partition",
    "Isotropy",
    "Evenness of directions: min Z / max Z of the partition function over the principal directions,"
    " on unit-length embeddings (Mu and Viswanath 2018). 1: all directions are used evenly; 0: all"
    " embeddings point in one direction.",
    "precise",
)
LENGTH = Column(
    "norms.mean",
    "Vector length",
    "Mean length (norm) of the vectors ± standard deviation: of all tokens and, in a model that"
    " tokens were added to, of old and added ones.",
    "precise",
    beside="norms.sd",
)
FREQUENCY_BIAS = Column(
    "frequency_bias.norm",
    "Frequency bias",
    "Spearman's correlation of frequency with the norm of a token's embedding, and with its cosine"
    " to the mean direction, over the original tokens of the model.",
    "precise",
)
DIRECTION_BIAS = Column("frequency_bias.mean_direction", "Bias of direction", format="precise")
HUBNESS = Column(
    "hubness.skewness",
    "Hubness",
    f"Skewness of N_k: how often a token is among the {HUB_K} nearest of others (Radovanović et al."
    " 2010). Near 0: no hubs.",
    "precise",
)
GEOMETRY = (
    Column("space", "Space"),
    Column("tokens", "Tokens", format="number"),
    Column("dim", "Dimensions", format="number"),
    Column("norms.zero_rows", "Zero vectors", "Excluded: they have no direction.", "number"),
    MEAN_COSINE,
    ISOTROPY,
    Column("isotropy.partition_as_published", help="Isotropy of the original vectors."),
    Column(
        "isotropy.isoscore",
        "IsoScore",
        "IsoScore of the original vectors (Rudman et al. 2022).",
        "precise",
    ),
    Column(
        "isotropy.first_direction",
        "First direction",
        "Fraction of the squared norm of the unit vectors along their first principal direction;"
        " 1/dim for evenly spread vectors.",
        "precise",
    ),
    HUBNESS,
    LENGTH,
    FREQUENCY_BIAS,
    DIRECTION_BIAS,
    Column("frequency_bias.by", "Frequency by"),
)
COSINES = (
    Column("space", "Space"),
    Column("other", "Other space"),
    replace(MEAN_COSINE, label="All pairs"),
    Column(
        "mean_cosine_common",
        "Common tokens",
        "Mean cosine of the two embeddings of each common token (Fast 2023, table 3.3).",
        "precise",
    ),
    Column("common", "Number of common tokens", format="number"),
)


@dataclass(frozen=True)
class Diagnosis:
    """Geometry of one space.

    mean_cosine: of two different tokens. original_norms: norms of the original tokens alone; those
    of all tokens if none was added. added_norms: norms of the added tokens alone; None if there are
    none.
    hubness: None if not requested, or for fewer than two tokens.
    """

    space: str
    tokens: int
    dim: int
    mean_cosine: float | None
    isotropy: Isotropy
    norms: Norms
    original_norms: Norms
    added_norms: Norms | None
    frequency_bias: FrequencyBias
    hubness: Hubness | None
    findings: tuple[Finding, ...] = ()


def diagnose(
    space: EmbeddingSpace,
    hubs: bool = True,
    progress: Progress = silent,
    added: Collection[str] = frozenset(),
    unnormalized: bool = True,
) -> Diagnosis:
    """Compute the diagnostics of one space; hubs: also compute hubness, which takes seconds.

    added: its added tokens (`OpenedSpace.added`), excluded from the correlation with frequency.
    unnormalized: also measure the isotropy of the rows without normalizing.
    """
    progress(0.0, "measuring isotropy")
    isotropy = measure_isotropy(space, unnormalized)
    norms = measure_norms(space)
    bias = measure_frequency_bias(space, added)
    hubness = measure_hubness(space, progress=part(progress, 0.2, 1.0)) if hubs else None
    # The norms of the added tokens, if the space has both kinds.
    is_added = np.array([word in added for word in space.words], dtype=bool)
    original_norms, added_norms = norms, None
    if is_added.any() and not is_added.all():
        old = measure_norms(space.take(np.flatnonzero(~is_added)))
        new = measure_norms(space.take(np.flatnonzero(is_added)))
        if old.n and new.n:
            original_norms, added_norms = old, new
    found = Diagnosis(
        space.name,
        len(space),
        space.dim,
        compute_mean_cosine(space),
        isotropy,
        norms,
        original_norms,
        added_norms,
        bias,
        hubness,
    )
    return replace(found, findings=tuple(_interpret(found)))


def build_cosine_table(names: Sequence[str], tables: CosineTables) -> Table:
    """Return the mean cosines of each space with itself and with each later one as a table."""
    rows = []
    for i, name in enumerate(names):
        for j in range(i, len(names)):
            row = {"space": name, "other": names[j], "common": tables.common[i][j]}
            values = {
                "mean_cosine": tables.mean_cosine[i][j],
                "mean_cosine_common": tables.mean_cosine_common[i][j],
            }
            rows.append(row | values)
    notes = ("Exact, over all selected tokens. –: different dimensions, or too few tokens.",)
    return Table("Mean cosines", COSINES, rows, notes)


def interpret_hubness(found: Hubness | None) -> Finding:
    """Return what the hubness of a space shows."""
    if found is None or found.skewness is None:
        return Finding("too_few_for_hubs", "Too few tokens for hubs.")
    code, verdict = "no_hubs", "No token is a neighbor of very many others"
    if found.skewness > SKEWED:
        code = "hubs"
        verdict = "A few tokens are neighbors of very many others"
    return Finding(
        code,
        f"{verdict}: the largest hub is a neighbor of {found.largest:,} tokens;"
        f" {100 * found.never:.3g} % of the tokens are neighbors of none.",
    )


def _interpret(found: Diagnosis) -> Iterator[Finding]:
    # 1. Whether all tokens share a common direction, by their mean cosine.
    mean, norms = found.mean_cosine, found.original_norms
    if mean is None:
        yield Finding("too_few_tokens", "Too few tokens with a direction.")
        return
    value = f"the mean cosine of two random tokens is {format_precise(mean)}"
    if mean >= NARROW_CONE:
        sentence = (
            f"The embeddings are in a narrow cone: {value}. Compare any cosine with this value."
        )
        yield Finding("narrow_cone", sentence)
    elif mean >= COMMON_DIRECTION:
        sentence = f"The embeddings share a weak common direction: {value}."
        yield Finding("weak_common_direction", sentence)
    else:
        yield Finding("no_common_direction", f"There is no common direction: {value}.")
    # 2. Whether the norm depends on the frequency or origin of a token, or is of different size.
    if found.frequency_bias.norm is not None:
        yield _interpret_frequency_bias(found, found.frequency_bias.norm)
    if found.added_norms:
        yield _compare_added_tokens(found.added_norms, norms)
    if norms.low < norms.median / UNEVEN:
        owner = "The lengths of the original tokens" if found.added_norms else "The lengths"
        yield Finding(
            "uneven_lengths",
            f"{owner} are uneven: 5 % are below {format_precise(norms.low)}, the median is"
            f" {format_precise(norms.median)}.",
        )
    # 3. Whether there are hubs, if they were counted.
    if found.hubness:
        yield interpret_hubness(found.hubness)


def _interpret_frequency_bias(found: Diagnosis, correlation: float) -> Finding:
    """Return whether length depends on frequency; added tokens are not part of the correlation."""
    bias = found.frequency_bias
    code = "length_without_frequency"
    tendency = "hardly depends on its frequency"
    if correlation >= WEAK:
        code = "frequent_longer"
        tendency = "tends to be larger for frequent tokens"
    elif correlation <= -WEAK:
        code = "frequent_shorter"
        tendency = "tends to be smaller for frequent tokens"
    owner = "an original token's vector" if found.added_norms else "a token's vector"
    known = "by count" if bias.by == "counts" else "by id, as a proxy for frequency"
    basis = f"ρ = {format_precise(correlation)}, n = {bias.n:,}, {known}"
    return Finding(code, f"The length of {owner} {tendency} ({basis}).")


def _compare_added_tokens(added: Norms, original: Norms) -> Finding:
    ratio = added.median / original.median
    code, compared = "added_alike", "about as long as"
    if abs(ratio - 1) >= ALIKE:
        code = "added_differ"
        compared = f"about {format_precise(ratio, 2)} times as long as"
    return Finding(
        code,
        f"Added tokens are {compared} the original ones: median {format_precise(added.median)}"
        f" (n = {added.n:,}) against {format_precise(original.median)} (n = {original.n:,}).",
    )
