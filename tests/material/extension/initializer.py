import numpy as np

from vocadapt.vocabulary.initializers.initialize import register_initializer
from vocadapt.vocabulary.initializers.materials import Initializer, Provenance


def initialize_constant(materials, settings):
    tokens = materials.plan.new_embeddings
    matrix = np.full((len(tokens), materials.model.dim), 0.5, dtype=np.float32)
    return matrix, (Provenance("constant 0.5"),) * len(tokens)


register_initializer(
    "constant",
    Initializer(
        initialize_constant, "the same number everywhere: a test", "c", "tests of extensions"
    ),
)
