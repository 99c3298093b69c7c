from dataclasses import dataclass

import numpy as np

from vocadapt.settings import CheckedSettings, setting
from vocadapt.spaces.alignment.methods import AlignmentMethod, register_method


@dataclass(frozen=True)
class FlatSettings(CheckedSettings):
    factor: float = setting(0.0, "the only number of the matrix", low=0, high=1)


def fit_flat(pairs, settings):
    return np.full((pairs.x.shape[1], pairs.y.shape[1]), settings.own.factor)


register_method(
    "flat",
    AlignmentMethod(fit_flat, "fills its matrix", "tests of extensions", own=FlatSettings),
)
