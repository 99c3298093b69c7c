from dataclasses import dataclass

import numpy as np

from vocadapt.settings import check_settings, setting
from vocadapt.vocabulary.initializers.initialize import register_initializer
from vocadapt.vocabulary.initializers.materials import Initializer, Provenance


@dataclass(frozen=True)
class ConstantSettings:
    value: float = setting(0.5, "number in every dimension", low=-1, high=1)

    def __post_init__(self):
        check_settings(self)


def initialize_constant(materials, settings):
    tokens, value = materials.plan.new_embeddings, settings.own.value
    matrix = np.full((len(tokens), materials.model.dim), value, dtype=np.float32)
    return matrix, (Provenance(f"constant {value}"),) * len(tokens)


register_initializer(
    "constant",
    Initializer(
        initialize_constant,
        "the same number in every dimension",
        "c",
        "tests of extensions",
        own=ConstantSettings,
    ),
)
