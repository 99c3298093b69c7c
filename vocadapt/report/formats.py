"""How numbers are written for readers: scores as .834, differences in points, p-values, sizes.

FORMATS names them for the columns of tables.
"""

import math
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from vocadapt.progress import duration, percent
from vocadapt.text.display import format_number

MIN_EXACT_P = 0.001  # smaller p-values are written as "< .001"
NONE = "–"
MAX_NAME = 40  # characters of a name from a file


def format_fraction(value: float | None, digits: int = 3, sign: str = "") -> str:
    """Format a score with these digits and no leading zero: .834, -.047, 1.000; – for none.

    sign: "+" also marks what is above zero: +.047.
    """
    if value is None or not math.isfinite(value):
        return NONE
    text = f"{value:{sign}.{digits}f}"
    if abs(float(text)) >= 1:
        return text
    return text.replace("0.", ".", 1)


def format_precise(value: float | None, digits: int = 3, sign: str = "") -> str:
    """Format a score as `format_fraction` does, below .0095 with two significant digits: .00051."""
    if value is not None and 0 < abs(value) < 0.0095:
        digits = min(1 - math.floor(math.log10(abs(value))), 9)
    return format_fraction(value, digits, sign)


def format_signed(value: float | None) -> str:
    """Format a difference of scores with its sign: +.047; – for none."""
    return format_fraction(value, sign="+")


def format_chance(value: float | None) -> str:
    """Format a chance level with three significant digits: .00084 is 1 in 1,190; – for none."""
    if value is None or not math.isfinite(value) or value <= 0:
        return NONE
    one_in = 1 / min(value, 1.0)
    if one_in < 10:
        return f"1 in {one_in:.2g}"
    return f"1 in {int(float(f'{one_in:.3g}')):,}"


def format_size(size: float | None) -> str:
    """Format a size in bytes: 1.2 GB, 132 MB, 0.4 MB, 31 kB; – for none."""
    if size is None:
        return NONE
    if size >= 1e9:
        return f"{size / 1e9:.1f} GB"
    if size >= 1e7:
        return f"{size / 1e6:.0f} MB"
    if size >= 1e5:
        return f"{size / 1e6:.1f} MB"
    return f"{max(size, 0) / 1e3:.0f} kB"


def format_points(difference: float | None) -> str:
    """Format a difference of scores in points, with its sign: +1.2; "" for none."""
    if difference is None:
        return ""
    return f"{100 * difference:+.1f}".replace("-", "−")


def format_distance(points: float | None) -> str:
    """Format a size of differences in points, which has no sign: 1.2; "" for none."""
    if points is None:
        return ""
    return f"{100 * points:.1f}"


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


def format_tenths(value: float | None) -> str:
    """Format a number with one decimal: 12.3; – for none."""
    return NONE if value is None else f"{value:.1f}"


def format_name(value: str) -> str:
    """Format a name or word from a file, shortened to a readable length."""
    return value[:MAX_NAME]


def format_text(value: object) -> str:
    """Format a text, or texts joined by spaces; "" for none."""
    if isinstance(value, tuple | list):
        return " ".join(map(str, value))
    return "" if value is None else str(value)


def format_seconds(seconds: float | None) -> str:
    """Format a duration: 4 s, 2 min, 1 h 20 min; – for none."""
    return NONE if seconds is None else duration(seconds)


def format_time(time: str | float | None) -> str:
    """Format a time to the minute: one of ISO 8601 as it is, seconds since 1970 as local time."""
    if not time:
        return ""
    if isinstance(time, str):
        return time[:16].replace("T", " ")
    return f"{datetime.fromtimestamp(time):%Y-%m-%d %H:%M}"


def format_line(text: str) -> str:
    """Format a text that may have several lines as one line."""
    return " ".join(text.split())


FORMATS: dict[str, Callable[[Any], str]] = {
    "text": format_text,
    "line": format_line,
    "figure": format_text,  # numbers that are already written, aligned as numbers
    "number": format_number,  # three significant digits, whole numbers in groups
    "fraction": format_fraction,
    "precise": format_precise,  # small values with two significant digits
    "tenths": format_tenths,
    "name": format_name,
    "four digits": partial(format_fraction, digits=4),  # scores close to 1
    "signed": format_signed,
    "percent": percent,  # of things: .163 is 16.3 %
    "chance": format_chance,
    "points": format_points,
    "distance": format_distance,  # points without a sign
    "p": format_p_value,
    "seconds": format_seconds,
    "size": format_size,
    "time": format_time,
}
TEXTS = ("text", "name", "line", "time")  # the formats of columns that are aligned to the left
