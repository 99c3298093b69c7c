"""Comparison of values that hold arrays."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def check_same(one: Any, other: Any) -> None:
    """Compare two dataclasses field by field, with their arrays, but for the seconds."""
    if isinstance(one, np.ndarray):
        assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    elif is_dataclass(one):
        for field in fields(one):
            if field.name != "seconds":
                check_same(getattr(one, field.name), getattr(other, field.name))
    else:
        assert one == other
