"""Compute the embeddings of new tokens: plan and spaces → NewEmbeddings, each with its provenance.

An initializer is a function from Materials to embeddings in a registry; recipes, the command line
and the page list the entries of the registry.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vocadapt.extensions import register
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.vocabulary.initializers.materials import (
    INITIALIZERS,
    DistilSettings,
    Initializer,
    InitializerSettings,
    Materials,
    NewEmbeddings,
    Provenance,
    compute_mean_embedding,
    format_provenance,
    list_trained_tokens,
)
from vocadapt.vocabulary.initializers.methods import FITTED, METHODS
from vocadapt.vocabulary.initializers.outputs import initialize_output_rows
from vocadapt.vocabulary.initializers.sparse import SPARSE
from vocadapt.vocabulary.initializers.stacked import STACKED
from vocadapt.vocabulary.plan.plan import VocabularyPlan

__all__ = [
    "INITIALIZERS",
    "DistilSettings",
    "Initializer",
    "InitializerSettings",
    "Materials",
    "NewEmbeddings",
    "Provenance",
    "compute_mean_embedding",
    "format_provenance",
    "initialize",
    "match_norms",
    "register_initializer",
]

INITIALIZERS.update(METHODS | SPARSE | STACKED | FITTED)


def register_initializer(name: str, initializer: Initializer) -> None:
    """Add an initializer to the registry; raises InputError for a name that is taken or invalid."""
    register(INITIALIZERS, "an initializer", name, initializer)


def initialize(materials: Materials, settings: InitializerSettings) -> NewEmbeddings:
    """Compute the embeddings of all tokens that are new or replaced in the plan.

    Raises InputError if the materials lack what the initializer needs.
    """

    def make_output_rows(output: EmbeddingSpace) -> Matrix:
        rows = initialize_output_rows(materials, settings, output)
        unknown = (Provenance(""),) * len(rows)
        return finish(NewEmbeddings(materials.plan.new_embeddings, rows, unknown), output).matrix

    def finish(embeddings: NewEmbeddings, model: EmbeddingSpace) -> NewEmbeddings:
        if settings.norm_matched:
            embeddings = match_norms(embeddings, materials.plan, model)
        return copy_to_forms(embeddings, materials.plan)

    matrix, provenance = INITIALIZERS[settings.method].make(materials, settings)
    embeddings = NewEmbeddings(materials.plan.new_embeddings, matrix, provenance)
    return replace(finish(embeddings, materials.model), make_output_rows=make_output_rows)


def copy_to_forms(embeddings: NewEmbeddings, plan: VocabularyPlan) -> NewEmbeddings:
    """Copy the embedding of the main form of each added word to its other forms.

    Returns the embeddings in the order of the plan: replaced tokens, then added ones.
    """
    if not plan.forms:
        return embeddings
    row = {token: i for i, token in enumerate(embeddings.tokens)}
    tokens = plan.replaced + plan.added_tokens
    rows = [row[plan.forms.get(token, token)] for token in tokens]
    provenance: list[Provenance] = []
    for token, i in zip(tokens, rows, strict=True):
        source = embeddings.provenance[i]
        main = plan.forms.get(token)
        if main is not None:
            how = f"another form of {main}, with the same embedding"
            source = Provenance(how, ((main, 1.0),), source.fallback)
        provenance.append(source)
    return NewEmbeddings(tokens, embeddings.matrix[rows], tuple(provenance))


def match_norms(
    embeddings: NewEmbeddings, plan: VocabularyPlan, model: EmbeddingSpace
) -> NewEmbeddings:
    """Scale new embeddings to the median norm of the old embeddings of their position class.

    Position classes are word starts and continuations. A zero embedding stays zero.
    """
    # 1. Compute the median norm of each class of old tokens; of all old tokens if a class is empty.
    old_tokens = list_trained_tokens(plan, model)
    old_norms = np.linalg.norm(model.matrix[model.rows(old_tokens)], axis=1)
    old_continues = _find_continuations(plan, old_tokens)
    medians: dict[bool, float] = {}
    for continues in (False, True):
        in_class = old_continues == continues
        norms = old_norms[in_class] if in_class.any() else old_norms
        medians[continues] = float(np.median(norms))
    # 2. Scale each new embedding to the median of its class.
    norms = np.linalg.norm(embeddings.matrix, axis=1)
    is_continuation = _find_continuations(plan, embeddings.tokens)
    wanted = np.where(is_continuation, medians[True], medians[False])
    factor = np.divide(wanted, norms, out=np.zeros_like(norms), where=norms > 0)
    matrix = np.asarray(embeddings.matrix * factor[:, None], dtype=np.float32)
    # 3. Record the norm in the provenance.
    provenance: list[Provenance] = []
    for source, continues in zip(embeddings.provenance, is_continuation.tolist(), strict=True):
        name = "continuations" if continues else "word starts"
        how = f"{source.how}; scaled to the median norm of old {name}, {medians[continues]:.3g}"
        provenance.append(replace(source, how=how))
    return NewEmbeddings(embeddings.tokens, matrix, tuple(provenance))


def _find_continuations(
    plan: VocabularyPlan, tokens: tuple[str, ...] | list[str]
) -> NDArray[np.bool_]:
    return np.array([plan.base.position(token) == "continuation" for token in tokens], dtype=bool)
