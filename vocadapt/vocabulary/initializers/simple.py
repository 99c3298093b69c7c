"""Initializers that compare no tokens: a vector taken over, random embeddings, means."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.vocabulary.initializers.materials import (
    Initialized,
    Initializer,
    InitializerSettings,
    Materials,
    Provenance,
    Registered,
    has_vector,
    mean_embedding,
)
from vocadapt.vocabulary.initializers.mixing import average_pieces, initialize_with_fallback


def initialize_aligned(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Map the word's vector, or the target's embedding, by the fitted alignment."""
    alignment = materials.alignment
    if alignment is None:
        raise InputError(
            "Aligned embeddings need an alignment of the word vectors to the model, and none was fitted."
        )
    space = materials.domain if materials.domain is not None else materials.target
    what = "its word vector" if materials.domain is not None else "the target's row"
    return _copy_vectors(
        materials, space, f"{what} through the {alignment.settings.method} map", alignment.apply
    )


def initialize_identity(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Copy the word's vector."""
    space = materials.domain
    if space is not None and space.dim != materials.model.dim:
        raise InputError(
            f"Identity embeddings need word vectors of the model's width {materials.model.dim}, these"
            f" have {space.dim}.",
            f"Train vectors of {materials.model.dim} dimensions, or choose the initializer aligned.",
        )
    return _copy_vectors(materials, space, "its word vector, not mapped", lambda vectors: vectors)


def initialize_target(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Copy the target model's embedding."""
    space = materials.target
    if space is None:
        raise InputError(
            "These embeddings are copied from a target model, and there is none.",
            "Give a target model.",
        )
    if space.dim != materials.model.dim:
        raise InputError(
            f"The target's embeddings have {space.dim} dimensions, the model's {materials.model.dim}.",
            "Choose the initializer aligned, which maps them, or a target model of the same width.",
        )
    return _copy_vectors(materials, space, "the target's own row", lambda vectors: vectors)


def initialize_random_normal(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Draw from a normal distribution: a baseline without information."""
    shape = (len(materials.plan.new_embeddings), materials.model.dim)
    rows = np.random.default_rng(settings.seed).normal(0.0, settings.sd, shape)
    return _with_provenance(rows, f"random normal, sd {settings.sd:g}, seed {settings.seed}")


def initialize_random_uniform(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Draw from a uniform distribution with the same standard deviation."""
    bound = settings.sd * 3**0.5
    shape = (len(materials.plan.new_embeddings), materials.model.dim)
    rows = np.random.default_rng(settings.seed).uniform(-bound, bound, shape)
    return _with_provenance(rows, f"random uniform, sd {settings.sd:g}, seed {settings.seed}")


def initialize_global_mean(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Return the mean of all old embeddings, the same for every token."""
    rows = np.tile(mean_embedding(materials.model), (len(materials.plan.new_embeddings), 1))
    return _with_provenance(rows, f"mean of all {len(materials.model):,} old rows")


def initialize_common_mean(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Return the mean of the common tokens' embeddings, the same for every token."""
    common = materials.model.take(materials.model.rows(materials.donors))
    rows = np.tile(mean_embedding(common), (len(materials.plan.new_embeddings), 1))
    return _with_provenance(rows, f"mean of the rows of all {len(common):,} common tokens")


def initialize_syntactic(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Return the mean of the embeddings of each token's pieces."""
    return average_pieces(materials, materials.plan.new_embeddings)


def _with_provenance(rows: NDArray[np.floating], how: str) -> Initialized:
    """Return embeddings as float32, all with the same provenance."""
    return rows.astype(np.float32), (Provenance(how),) * len(rows)


def _copy_vectors(
    materials: Materials, space: EmbeddingSpace | None, how: str, change: Callable[[Matrix], Matrix]
) -> Initialized:
    """Apply `change` to each token's vector in a space, or average its pieces if it has none."""
    if space is None:
        raise InputError(
            "These embeddings are made from word vectors, and there are none.",
            "Give word vectors or a text.",
        )

    def make(tokens: tuple[str, ...]) -> Initialized:
        return change(space.matrix[space.rows(tokens)]), tuple(
            Provenance(how, ((token, 1.0),)) for token in tokens
        )

    return initialize_with_fallback(
        materials, [has_vector(space, token) for token in materials.plan.new_embeddings], make
    )


SIMPLE: Registered = {
    "aligned": Initializer(
        initialize_aligned,
        "the word's vector (or the target's embedding), mapped by the fitted alignment",
        "W · w",
        "Poerner et al. 2020, Creating new input vectors",
        needs_alignment=True,
        needs="similar",
    ),
    "identity": Initializer(
        initialize_identity,
        "the word's vector as it is, not mapped",
        "w",
        "Poerner et al. 2020, ablation W = 1",
        needs="words",
    ),
    "target": Initializer(
        initialize_target,
        "the target model's embedding as it is",
        "E_target(t)",
        "Fast 2023, section 4.4.5, naive",
        needs="target",
    ),
    "random-normal": Initializer(
        initialize_random_normal,
        "random embeddings from a normal distribution: a baseline",
        "N(0, sd²)",
        "Poerner et al. 2020, ablation; Fast 2023, section 4.4.5",
    ),
    "random-uniform": Initializer(
        initialize_random_uniform,
        "random embeddings from a uniform distribution, same standard deviation",
        "U(−√3·sd, √3·sd)",
        "Fast 2023, section 4.4.3",
    ),
    "global-mean": Initializer(
        initialize_global_mean,
        "the mean of all old embeddings, the same for every token",
        "mean E",
        "a baseline",
    ),
    "common-mean": Initializer(
        initialize_common_mean,
        "the mean of the common tokens' embeddings, the same for every token",
        "mean E(o)",
        "a baseline",
        needs="similar",
    ),
    "syntactic": Initializer(
        initialize_syntactic,
        "the mean of the embeddings of its pieces; a token that no pieces"
        " spell, such as one with a character that the model does not know, gets the mean of all"
        " old embeddings, instead of that of the unknown token",
        "mean of E(pieces of t)",
        "Fast 2023, section 4.4.5",
    ),
}
