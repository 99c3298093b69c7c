"""Cases of a parametrized test that only the nightly run tries."""

from collections.abc import Iterable
from typing import Any

import pytest


def mark_slow(cases: Iterable[Any]) -> list[Any]:
    """Mark cases as slow; a tuple is the values of several parameters."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in cases
    ]
