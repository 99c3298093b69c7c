"""Small spaces of words."""

import numpy as np

from vocadapt.spaces.space import EmbeddingSpace


def angles(degrees, name="a", counts=None):
    """Words on a circle: the nearest by cosine is the nearest by angle."""
    turned = np.radians(list(degrees.values()))
    matrix = np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)
    return EmbeddingSpace(tuple(degrees), matrix, counts, name)


BEFORE = angles({"a": 0, "b": 10, "c": 25, "d": 90, "e": 110, "only": 1})
AFTER = angles({"e": 0, "a": 15, "d": 30, "b": 100, "c": 118, "other": 5}, "b")
