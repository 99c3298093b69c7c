"""Initializers that need no likeness between tokens: a vector taken over, random rows, means."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.vocabulary.initializers.materials import (
    Initializer,
    Made,
    Materials,
    Provenance,
    Registered,
    has_vector,
    mean_row,
)
from vocadapt.vocabulary.initializers.mixing import mean_of_pieces, with_fallback

if TYPE_CHECKING:
    from vocadapt.vocabulary.initializers.initialize import RowSettings


def aligned(materials: Materials, settings: "RowSettings") -> Made:
    """The word's vector, or the target's row, sent through the map."""
    alignment = materials.alignment
    if alignment is None:
        raise InputError(
            "Aligned rows need a map from the word vectors to the model, and none was fitted."
        )
    space = materials.domain if materials.domain is not None else materials.target
    what = "its word vector" if materials.domain is not None else "the target's row"
    return _taken_over(
        materials, space, f"{what} through the {alignment.settings.method} map", alignment.apply
    )


def identity(materials: Materials, settings: "RowSettings") -> Made:
    """The word's vector as it is."""
    space = materials.domain
    if space is not None and space.dim != materials.model.dim:
        raise InputError(
            f"Identity rows need word vectors of the model's width {materials.model.dim}, these"
            f" have {space.dim}.",
            f"Train vectors with --dim {materials.model.dim}, or choose aligned rows.",
        )
    return _taken_over(materials, space, "its word vector, not mapped", lambda vectors: vectors)


def target(materials: Materials, settings: "RowSettings") -> Made:
    """The target's own row as it is."""
    space = materials.target
    if space is None:
        raise InputError(
            "These rows are the target model's own, and none was given.", "Give --target."
        )
    if space.dim != materials.model.dim:
        raise InputError(
            f"The target's own rows are {space.dim} wide, the model's {materials.model.dim}.",
            "Choose aligned rows, which go through a map, or a target model of the same width.",
        )
    return _taken_over(materials, space, "the target's own row", lambda vectors: vectors)


def random_normal(materials: Materials, settings: "RowSettings") -> Made:
    """Normal rows that mean nothing, as the floor to compare with."""
    shape = (len(materials.plan.new_rows), materials.model.dim)
    rows = np.random.default_rng(settings.seed).normal(0.0, settings.sd, shape)
    return _alike(rows, f"random normal, sd {settings.sd:g}, seed {settings.seed}")


def random_uniform(materials: Materials, settings: "RowSettings") -> Made:
    """Uniform rows of the same deviation that mean nothing."""
    bound = settings.sd * 3**0.5
    shape = (len(materials.plan.new_rows), materials.model.dim)
    rows = np.random.default_rng(settings.seed).uniform(-bound, bound, shape)
    return _alike(rows, f"random uniform, sd {settings.sd:g}, seed {settings.seed}")


def global_mean(materials: Materials, settings: "RowSettings") -> Made:
    """The mean of all old rows, the same for every token."""
    rows = np.tile(mean_row(materials.model), (len(materials.plan.new_rows), 1))
    return _alike(rows, f"mean of all {len(materials.model):,} old rows")


def common_mean(materials: Materials, settings: "RowSettings") -> Made:
    """The mean of the common tokens' rows, the same for every token."""
    common = materials.model.take(materials.model.rows(materials.donors))
    rows = np.tile(mean_row(common), (len(materials.plan.new_rows), 1))
    return _alike(rows, f"mean of the rows of all {len(common):,} common tokens")


def syntactic(materials: Materials, settings: "RowSettings") -> Made:
    """The mean of the rows of a token's pieces, a continuation cut as a continuation."""
    return mean_of_pieces(materials, materials.plan.new_rows)


def _alike(rows: NDArray[np.floating], how: str) -> Made:
    return rows.astype(np.float32), (Provenance(how),) * len(rows)


def _taken_over(
    materials: Materials, space: EmbeddingSpace | None, how: str, change: Callable[[Matrix], Matrix]
) -> Made:
    """Each token's own vector, changed by a map; the mean of its pieces where it has none."""
    if space is None:
        raise InputError(
            "These rows are made of word vectors, and none were given.",
            "Give --vectors or --corpus.",
        )

    def make(tokens: tuple[str, ...]) -> Made:
        return change(space.matrix[space.rows(tokens)]), tuple(
            Provenance(how, ((token, 1.0),)) for token in tokens
        )

    return with_fallback(
        materials, [has_vector(space, token) for token in materials.plan.new_rows], make
    )


SIMPLE: Registered = {
    "aligned": Initializer(
        aligned,
        "the word's vector (or the target's row), sent through the fitted map",
        "W · w",
        "Poerner et al. 2020, Creating new input vectors",
        needs_alignment=True,
        needs="similar",
    ),
    "identity": Initializer(
        identity,
        "the word's vector as it is, not mapped",
        "w",
        "Poerner et al. 2020, ablation W = 1",
        needs="words",
    ),
    "target": Initializer(
        target,
        "the target model's own row as it is",
        "E_target(t)",
        "thesis 4.4.5, naive",
        needs="target",
    ),
    "random-normal": Initializer(
        random_normal,
        "random rows that mean nothing: the floor",
        "N(0, sd²)",
        "Poerner et al. 2020, ablation; thesis 4.4.5",
    ),
    "random-uniform": Initializer(
        random_uniform,
        "random rows, evenly spread, of the same deviation",
        "U(−√3·sd, √3·sd)",
        "thesis 4.4.3",
    ),
    "global-mean": Initializer(
        global_mean, "the mean of all old rows, the same for every token", "mean E", "a floor"
    ),
    "common-mean": Initializer(
        common_mean,
        "the mean of the common tokens' rows, the same for every token",
        "mean E(o)",
        "a floor",
        needs="similar",
    ),
    "syntactic": Initializer(
        syntactic,
        "the mean of the rows of its pieces; a continuation is cut as one; a token that no pieces"
        " spell, such as one with a character that the model does not know, gets the mean of all"
        " old rows, instead of that of [UNK]",
        "mean of E(pieces of t)",
        "thesis 4.4.5",
    ),
}
