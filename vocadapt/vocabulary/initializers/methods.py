"""All initializers except matching pursuit (`sparse`), simplest first.

1. Copied or mapped vectors, random embeddings, means: tokens are not compared.
2. Mixtures of the embeddings of common tokens, by their similarity to the new token in a target
   space. A common token keeps its embedding in the model and also has a vector in the target space.
3. Through the network: hidden states that join the token's wordpieces, mapped to an embedding; or
   embeddings that are trained so that the states of the model are those with the wordpieces (token
   distillation, matched attention), or so that it predicts a description (grounding).
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.spaces.neighbors.search import select_top_k
from vocadapt.spaces.space import EmbeddingSpace, IntArray, Matrix
from vocadapt.vocabulary.initializers.materials import (
    AttentionSettings,
    DistilSettings,
    FittingSettings,
    GroundingSettings,
    Initialized,
    Initializer,
    InitializerSettings,
    JoinSettings,
    Materials,
    Provenance,
    compute_mean_embedding,
)
from vocadapt.vocabulary.initializers.mixing import (
    Mix,
    average_pieces,
    compute_group_maxima,
    initialize_with_fallback,
    mix_similar_tokens,
    select_above_bound,
)

# Default numbers of neighbors, as published.
SEMANTIC_NEIGHBORS, WECHSEL_NEIGHBORS = 3, 10
ROUNDING = 1e-6  # of a cosine in float32
# From vectors (n, d) float32 and counts (n,) int64, None if unknown, to embeddings (n, e) float32.
Change = Callable[[Matrix, IntArray | None], Matrix]


def initialize_aligned(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Map the word's vector, or the target's embedding, with the fitted alignment."""
    alignment = materials.alignment
    if alignment is None:
        raise InputError(
            "Aligned embeddings need an alignment of the word vectors to the model, but none was"
            " fitted.",
            code="no-alignment",
        )
    space, what = materials.domain, "its word vector"
    if space is None:
        space, what = materials.target, "the target's embedding"
    return _copy_vectors(
        materials, space, f"{what}, aligned by {alignment.settings.method}", alignment.apply
    )


def initialize_identity(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Copy the word's vector."""
    space = materials.domain
    if space is not None and space.dim != materials.model.dim:
        raise InputError(
            f"Identity embeddings need word vectors of the model's width {materials.model.dim},"
            f" these have {space.dim}.",
            f"Train vectors of {materials.model.dim} dimensions, or choose the initializer"
            " aligned.",
            code="wrong-dimensions",
        )
    return _copy_vectors(
        materials, space, "its word vector, not aligned", lambda vectors, _: vectors
    )


def initialize_target(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Copy the target model's embedding."""
    space = materials.target
    if space is None:
        raise InputError(
            "These embeddings are copied from a target model, but no target model was given.",
            "Give a target model.",
        )
    if space.dim != materials.model.dim:
        raise InputError(
            f"The target's embeddings have {space.dim} dimensions, the model's"
            f" {materials.model.dim}.",
            "Choose the initializer aligned, which maps them, or a target model of the same width.",
            code="wrong-dimensions",
        )
    return _copy_vectors(materials, space, "the target's embedding", lambda vectors, _: vectors)


def initialize_random_normal(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Draw from a normal distribution: a baseline without information."""
    shape = (len(materials.plan.new_embeddings), materials.model.dim)
    rows = np.random.default_rng(settings.seed).normal(0.0, settings.sd, shape)
    return _add_provenance(rows, f"random normal, sd {settings.sd:g}, seed {settings.seed}")


def initialize_random_uniform(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Draw from a uniform distribution with the same standard deviation."""
    bound = settings.sd * 3**0.5
    shape = (len(materials.plan.new_embeddings), materials.model.dim)
    rows = np.random.default_rng(settings.seed).uniform(-bound, bound, shape)
    return _add_provenance(rows, f"random uniform, sd {settings.sd:g}, seed {settings.seed}")


def initialize_global_mean(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Return the mean of all old embeddings, the same for every token."""
    rows = np.tile(compute_mean_embedding(materials.model), (len(materials.plan.new_embeddings), 1))
    return _add_provenance(rows, f"mean of all {len(materials.model):,} original embeddings")


def initialize_common_mean(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Return the mean of the common tokens' embeddings, the same for every token."""
    common = materials.model.take(materials.model.rows(materials.donors))
    rows = np.tile(compute_mean_embedding(common), (len(materials.plan.new_embeddings), 1))
    return _add_provenance(rows, f"mean of the embeddings of all {len(common):,} common tokens")


def initialize_syntactic(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Return the mean of the embeddings of each token's pieces."""
    return average_pieces(materials, materials.plan.new_embeddings)


def _add_provenance(rows: NDArray[np.floating], how: str) -> Initialized:
    return rows.astype(np.float32), (Provenance(how),) * len(rows)


def _copy_vectors(
    materials: Materials, space: EmbeddingSpace | None, how: str, change: Change
) -> Initialized:
    """Apply `change` to the vectors and counts of the tokens in a space, or average the pieces of a
    token that it lacks.
    """
    if space is None:
        raise InputError(
            "These embeddings are computed from word vectors, but none were given.",
            "Give word vectors or a text.",
            code="no-vectors",
        )

    def make(tokens: tuple[str, ...]) -> Initialized:
        provenance = tuple(Provenance(how, ((token, 1.0),)) for token in tokens)
        rows = space.rows(tokens)
        counts = None
        if space.counts is not None:
            counts = space.counts[rows]
        return change(space.matrix[rows], counts), provenance

    return initialize_with_fallback(materials, space, make)


def initialize_semantic(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Return the mean of the embeddings of the m nearest common tokens."""
    m = min(settings.neighbors or SEMANTIC_NEIGHBORS, len(materials.donors))

    def choose(similarities: Matrix) -> Mix:
        donors, _ = _find_nearest(similarities, m)
        return Mix(donors, np.full(donors.shape, 1 / m, np.float32))

    return mix_similar_tokens(materials, choose, f"mean of the {m} nearest common tokens")


def initialize_focus(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Mix the embeddings of common tokens, weighted by the sparsemax of their cosines."""
    return mix_similar_tokens(
        materials, _mix_by_sparsemax, "sparsemax of the cosines to all common tokens"
    )


def initialize_wechsel(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Mix the nearest common tokens' embeddings by the softmax of cosine / temperature."""
    k = min(settings.neighbors or WECHSEL_NEIGHBORS, len(materials.donors))

    def choose(similarities: Matrix) -> Mix:
        donors, cosines = _find_nearest(similarities, k)
        weights = np.exp((cosines - cosines[:, :1]) / settings.temperature)
        return Mix(donors, weights / weights.sum(axis=1, keepdims=True))

    how = f"softmax of the cosines to the {k} nearest common tokens, over {settings.temperature:g}"
    return mix_similar_tokens(materials, choose, how)


def sparsemax(scores: Matrix) -> Matrix:
    """Project scores (n, k) onto the simplex: weights ≥ 0, row sums 1 (Martins and Astudillo 2016).

    Example: scores [1, .8, .1] → threshold .4 → weights [.6, .4, 0].
    """
    threshold = _compute_threshold(-np.sort(-scores, axis=1))
    return np.asarray(np.maximum(scores - threshold[:, None], 0), dtype=np.float32)


def _compute_threshold(ordered: Matrix) -> Matrix:
    """Compute the threshold τ of each row, (n,), for which max(score − τ, 0) sums to 1.

    ordered: (n, k) scores, largest first, padded with −∞.
    """
    sums = np.cumsum(ordered, axis=1, dtype=np.float64)
    place = np.arange(1, ordered.shape[1] + 1)
    support = (1 + place * ordered > sums).sum(axis=1)
    tau: Matrix = (sums[np.arange(len(sums)), support - 1] - 1) / support
    return tau


def _mix_by_sparsemax(similarities: Matrix) -> Mix:
    """Compute the sparsemax of each row without sorting the whole row.

    1. The threshold τ of a part of a row is at most that of the row: compute it from group maxima.
    2. Only values above that lower bound can have a weight: select and sort these.
    3. Compute the exact threshold and the weights from them.
    """
    maxima = -np.sort(-compute_group_maxima(similarities), axis=1)
    bound = (_compute_threshold(maxima) - ROUNDING).astype(np.float32)
    donors, cosines = select_above_bound(similarities, bound)
    weights = np.maximum(cosines - _compute_threshold(cosines)[:, None], 0)
    n_used = int((weights > 0).sum(axis=1).max(initial=1))
    return Mix(donors[:, :n_used], np.asarray(weights[:, :n_used], dtype=np.float32))


def _find_nearest(similarities: Matrix, k: int) -> tuple[NDArray[np.int64], Matrix]:
    """Return columns and values (n, k) of the k largest values of each row, best first."""
    columns = select_top_k(similarities, k)
    return columns, np.take_along_axis(similarities, columns, axis=1)


def initialize_distilled(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Start from the mean of a token's wordpieces, and train until the hidden states match."""
    return _fit_to_text(materials, settings, "distilled from the mean of its pieces")


def initialize_attention(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Start from the mean of a token's wordpieces, and train until attention outputs match."""
    return _fit_to_text(
        materials,
        settings,
        "fitted to the attention of the first layers from the mean of its pieces",
    )


def _fit_to_text(materials: Materials, settings: InitializerSettings, what: str) -> Initialized:
    """Start from the mean of a token's wordpieces, and fit the embeddings to contexts of a text."""
    if materials.distiller is None:
        raise InputError(
            f"Embeddings of the initializer {settings.method} are trained on a text, but no text"
            " was given.",
            f"Give a text. A leaderboard includes {settings.method}, which is slow, only if you"
            " name it.",
            code="no-text",
        )
    own: FittingSettings = settings.own
    start, sources = average_pieces(materials, materials.plan.new_embeddings)
    embeddings, contexts = materials.distiller(materials.plan, start, own, materials.progress)
    described = [f"{what}, over {n} of {own.contexts} contexts" for n in contexts.tolist()]
    return embeddings, _describe_fitted(sources, contexts, described, "no context in the text")


def _describe_fitted(
    sources: Sequence[Provenance], counts: NDArray[np.int64], how: Sequence[str], missing: str
) -> tuple[Provenance, ...]:
    """Return the provenance of fitted embeddings: `how` they were fitted, or `missing` if there was
    nothing to fit one to; it is then still what `sources` say.
    """
    provenance: list[Provenance] = []
    for source, count, text in zip(sources, counts.tolist(), how, strict=True):
        if count:
            provenance.append(Provenance(text))
        else:
            provenance.append(Provenance(f"{missing}: {source.how}", source.donors, fallback=True))
    return tuple(provenance)


def initialize_joined(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Map the hidden state at a token's last wordpiece, where it was joined, to an embedding."""
    if materials.joiner is None:
        raise InputError(
            "The initializer joined is computed from hidden states of the network, and here only"
            " the embeddings of the model are read.",
            "Compare initializers before training, or adapt a model with it.",
            code="no-network",
        )
    joined = materials.joiner.join(materials, settings.own)
    _, sources = average_pieces(materials, materials.plan.new_embeddings)
    provenance: list[Provenance] = []
    for is_joined, source in zip(joined.is_joined.tolist(), sources, strict=True):
        if is_joined:
            provenance.append(Provenance(joined.how))
        else:
            provenance.append(source)
    return joined.matrix, tuple(provenance)


def initialize_grounded(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Start from the mean of a token's wordpieces, and train until it predicts its description."""
    if materials.grounder is None:
        raise InputError(
            "Grounded embeddings are trained on the descriptions of a glossary, but none was"
            " given.",
            "Give a glossary. A leaderboard includes grounded only if you name it.",
        )
    own: GroundingSettings = settings.own
    start, sources = average_pieces(materials, materials.plan.new_embeddings)
    embeddings, counts = materials.grounder(materials.plan, start, own, materials.progress)
    described = ["grounded in its description, from the mean of its pieces"] * len(sources)
    for number, count in enumerate(counts.tolist()):
        if count > 1:
            described[number] = f"grounded in {count} descriptions, from the mean of its pieces"
    return embeddings, _describe_fitted(sources, counts, described, "not in the glossary")


METHODS: dict[str, Initializer] = {
    "aligned": Initializer(
        initialize_aligned,
        "the word's vector (or the target's embedding), mapped with the fitted alignment",
        "W · w",
        "Poerner et al. 2020, Creating new input vectors",
        needs_alignment=True,
        needs="similar",
        reads_rows=True,
    ),
    "identity": Initializer(
        initialize_identity,
        "the word's vector, unchanged",
        "w",
        "Poerner et al. 2020, ablation W = 1",
        needs="words",
    ),
    "target": Initializer(
        initialize_target,
        "the target model's embedding, unchanged",
        "E_target(t)",
        "Fast 2023, section 4.4.5, naive",
        needs="target",
    ),
    "random-normal": Initializer(
        initialize_random_normal,
        "random embeddings from a normal distribution: a baseline",
        "N(0, sd²)",
        "Poerner et al. 2020, ablation; Fast 2023, section 4.4.5",
        settings=("seed", "sd"),
    ),
    "random-uniform": Initializer(
        initialize_random_uniform,
        "random embeddings from a uniform distribution, same standard deviation",
        "U(−√3·sd, √3·sd)",
        "Fast 2023, section 4.4.3",
        settings=("seed", "sd"),
    ),
    "global-mean": Initializer(
        initialize_global_mean,
        "the mean of all old embeddings, the same for every token",
        "mean E",
        "a baseline",
        reads_rows=True,
    ),
    "common-mean": Initializer(
        initialize_common_mean,
        "the mean of the common tokens' embeddings, the same for every token",
        "mean E(o)",
        "a baseline",
        needs="similar",
        reads_rows=True,
    ),
    "syntactic": Initializer(
        initialize_syntactic,
        "the mean of the embeddings of its pieces; a token that no pieces"
        " spell, such as one with a character that the model does not know, gets the mean of all"
        " old embeddings, instead of that of the unknown token",
        "mean of E(pieces of t)",
        "Fast 2023, section 4.4.5",
        reads_rows=True,
    ),
    "semantic": Initializer(
        initialize_semantic,
        "the mean of the m nearest common tokens' embeddings, by cosine in the target space",
        "1/m Σ E(o), o in the m nearest",
        "Fast 2023, section 4.4.5",
        needs="similar",
        settings=("neighbors",),
        reads_rows=True,
    ),
    "focus": Initializer(
        initialize_focus,
        "a convex combination of a few common tokens' embeddings, by cosine in the target space",
        "Σ sparsemax(cos(t, o)) · E(o)",
        "Dobler and de Melo 2023, FOCUS",
        needs="similar",
        reads_rows=True,
    ),
    "wechsel": Initializer(
        initialize_wechsel,
        "a mix of the 10 nearest common tokens' embeddings; no dictionary is used, and common"
        " tokens keep their embeddings",
        "Σ softmax(cos(t, o) / 0.1) · E(o)",
        "Minixhofer et al. 2022, WECHSEL",
        needs="similar",
        settings=("neighbors", "temperature"),
        reads_rows=True,
    ),
}
FITTED = {  # a separate dictionary, because they come last in menus, after matching pursuit
    "joined": Initializer(
        initialize_joined,
        "the hidden state at the token's last piece, from the layer that joins pieces best, mapped"
        " to the embeddings",
        "A · h(last piece of t)",
        "FragMend (Mehta et al. 2026), here for encoders, with the map of Kaplan et al. 2025",
        needs="network",
        own=JoinSettings,
        reads_rows=True,
    ),
    "distilled": Initializer(
        initialize_distilled,
        "the mean of its pieces, trained until the model's hidden states are those it had with the"
        " pieces; needs a text",
        "argmin Σ ‖h(t) − h(pieces of t)‖²",
        "Token Distillation (2026), here for encoders",
        needs="text",
        own=DistilSettings,
    ),
    "attention": Initializer(
        initialize_attention,
        "the mean of its pieces, trained until the attention in the first third of the layers has"
        " the outputs it had with the pieces; needs a text",
        "argmin Σ ‖a(t) − a(pieces of t)‖², a: attention-weighted values",
        "MATT (Haltiuk and Smywiński-Pohl 2025), here also for encoders",
        needs="text",
        own=AttentionSettings,
    ),
    "grounded": Initializer(
        initialize_grounded,
        "the mean of its pieces, trained until the model predicts the words of the token's"
        " description from it; needs a glossary",
        "argmin −Σ log p(words of the description | t)",
        "GTI (Chen et al. 2026), here also for encoders",
        needs="glossary",
        own=GroundingSettings,
    ),
}
