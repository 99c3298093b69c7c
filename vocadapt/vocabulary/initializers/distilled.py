"""Initializer by token distillation: train new embeddings so that the model reads a new token as it
read the token's wordpieces.
"""

from vocadapt.errors import InputError
from vocadapt.vocabulary.initializers.materials import (
    Initialized,
    Initializer,
    InitializerSettings,
    Materials,
    Provenance,
    Registered,
)
from vocadapt.vocabulary.initializers.mixing import average_pieces
from vocadapt.vocabulary.initializers.settings import DistilSettings


def initialize_distilled(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Start from the mean of a token's wordpieces, and train until the hidden states match."""
    if materials.distiller is None:
        raise InputError(
            "Distilled embeddings are fitted to a text, and no text was given.",
            "Give a text. A leaderboard includes distilled only if it is named: it takes long.",
        )
    own: DistilSettings = settings.own
    start, sources = average_pieces(materials, materials.plan.new_embeddings)
    embeddings, contexts = materials.distiller(materials.plan, start, own, materials.progress)
    provenance: list[Provenance] = []
    for n_contexts, source in zip(contexts.tolist(), sources, strict=True):
        if n_contexts:
            how = (
                f"distilled from the mean of its pieces, over {n_contexts} of"
                f" {own.contexts} contexts"
            )
            provenance.append(Provenance(how))
        else:
            how = f"no context in the text: {source.how}"
            provenance.append(Provenance(how, source.donors, fallback=True))
    return embeddings, tuple(provenance)


DISTILLED: Registered = {
    "distilled": Initializer(
        initialize_distilled,
        "the mean of its pieces, trained until the model's hidden states are those it had with the"
        " pieces; needs a text",
        "argmin Σ ‖h(t) − h(pieces of t)‖²",
        "Token Distillation (2026), here for encoders",
        needs="text",
        settings=DistilSettings,
    ),
}
