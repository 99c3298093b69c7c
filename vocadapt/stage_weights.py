"""Relative cost of the stages of an adaptation, for the progress bar."""

from vocadapt.recipe import Recipe

WORD_VECTORS = 70.0  # training word vectors on a text
DISTILLATION = 500.0  # training new embeddings through the network
PRETRAINING = 350.0
SHORT = 5.0


def weigh_stages(recipe: Recipe, has_vectors: bool, has_bare_target: bool) -> dict[str, float]:
    """Return stage → relative cost.

    has_vectors: word vectors of the domain are ready. has_bare_target: the target is a vocabulary
    without embeddings, so that vectors of its tokens are trained.
    """
    weights = {"vectors": 0.0, "plan": 10.0, "target": SHORT, "embeddings": SHORT, "model": 10.0}
    if "vectors" in recipe.needs and not has_vectors:
        weights["vectors"] = WORD_VECTORS
    if recipe.needs_similar_tokens and has_bare_target:
        weights["target"] = WORD_VECTORS
    if recipe.distils:
        weights["embeddings"] = DISTILLATION
    if recipe.further.stage:
        weights["pretraining"] = PRETRAINING
    return weights
