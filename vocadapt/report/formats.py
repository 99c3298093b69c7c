"""How numbers are written for readers: scores as .834, differences in points, p-values.

FORMATS names them for the columns of tables.
"""

import math
from collections.abc import Callable
from typing import Any

from vocadapt.text.display import format_number

MIN_EXACT_P = 0.001  # smaller p-values are written as "< .001"
NONE = "–"


def format_fraction(value: float | None) -> str:
    """Format a score with three digits and no leading zero: .834, -.047, 1.000; – for none."""
    if value is None or not math.isfinite(value):
        return NONE
    text = f"{value:.3f}"
    if abs(float(text)) >= 1:
        return text
    return text.replace("0.", ".", 1)


def format_points(difference: float | None) -> str:
    """Format a difference of scores in points, with its sign: +1.2; "" for none."""
    if difference is None:
        return ""
    return f"{100 * difference:+.1f}".replace("-", "−")


def format_p_value(p: float | None) -> str:
    """Format a p-value: .090, or < .001; "" for none."""
    if p is None:
        return ""
    if p < MIN_EXACT_P:
        return f"< {format_fraction(MIN_EXACT_P)}"
    return format_fraction(p)


def format_metric_name(name: str) -> str:
    """Format the name of a metric for display: F1, mean F1."""
    return name.replace("f1", "F1").replace("_", " ")


def format_text(value: object) -> str:
    """Format a text; "" for none."""
    return "" if value is None else str(value)


FORMATS: dict[str, Callable[[Any], str]] = {
    "text": format_text,
    "number": format_number,  # three significant digits, whole numbers in groups
    "fraction": format_fraction,
    "points": format_points,
    "p": format_p_value,
}
