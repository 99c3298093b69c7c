"""Bounds of numeric settings, declared with the dataclass field and checked by one function.

    @dataclass(frozen=True)
    class Word2VecSettings:
        epochs: int = bounded(5, 1, 10_000, "Epochs")

        def __post_init__(self) -> None:
            check_settings(self)

Command line, pages, recipes, JSON and Python callers all get the same check by constructing the
dataclass. Inputs read the bounds with `bounds_of` or `limits`.
"""

from dataclasses import Field, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, TypeVar

from vocadapt.errors import InputError

T = TypeVar("T")

BOUNDS = "bounds"  # key in the metadata of a dataclass field
LARGEST_SEED = 2**32 - 1  # accepted by NumPy, scikit-learn and gensim
MAX_SEEDS = 1_000  # values of a list of seeds
MAX_COUNT = 10**9  # words, lines or occurrences: more than any text has
SMALLEST = 1e-9  # lowest value of a number that must be above 0
LARGEST_RATE = 3.4e38  # of float32; a training that diverges is reported
MINUTES_PER_YEAR = 525_600
MAX_SHOWN = 60  # characters of a value in a message
MAX_DIGITS = 15  # of a whole number in a message


@dataclass(frozen=True)
class Bounds:
    """Lowest and highest value of a number, both included, and its label; most: maximum length, if
    it is a list.
    """

    label: str
    lowest: float
    highest: float
    whole: bool = True
    most: int = 1

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        low, high = f"from {show_value(self.lowest)}", f"to {show_value(self.highest)}"
        if self.lowest == SMALLEST:
            low, high = "above 0", f"and up to {show_value(self.highest)}"
        if self.highest == 1 - SMALLEST:
            high = "and below 1"
        return f"{kind} {low} {high}"

    def accepts(self, value: object) -> bool:
        """Return whether a value is a number of the right kind within the bounds; booleans, NaN and
        infinities are not.
        """
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        return bool(self.lowest <= value <= self.highest)  # type: ignore[operator]


def bounded(default: T, lowest: float, highest: float, label: str) -> T:
    """Declare a numeric setting as a dataclass field; a tuple as default declares a list of such
    numbers.

    If the default is an int, only integers are accepted.
    """
    sample = default[0] if isinstance(default, tuple) else default
    most = MAX_SEEDS if isinstance(default, tuple) else 1
    kind: type[int] | type[float] = float if isinstance(sample, float) else int
    bounds = Bounds(label, kind(lowest), kind(highest), kind is int, most)
    return field(default=default, metadata={BOUNDS: bounds})


def check_settings(settings: Any) -> None:
    """Check every bounded field of a settings dataclass; raise InputError with the label, value and
    bounds.
    """
    for declared in fields(settings):
        bounds = declared.metadata.get(BOUNDS)
        if bounds is not None:
            _check_field(declared, bounds, getattr(settings, declared.name))


def _check_field(declared: Field[Any], bounds: Bounds, value: object) -> None:
    """Raise InputError if the value of a field, or one of its values, is out of bounds."""
    name = f"{bounds.label} ({declared.name})"
    values = value if isinstance(declared.default, tuple) else (value,)
    if not isinstance(values, tuple) or not 1 <= len(values) <= bounds.most:
        found = f"{len(values):,}" if isinstance(values, tuple) else show_value(values)
        raise InputError(f"{name}: expected 1 to {bounds.most:,} values, got {found}.")
    for one in values:
        if not bounds.accepts(one):
            remedy = (
                ""
                if isinstance(declared.default, tuple)
                else f"The default is {show_value(declared.default)}."
            )
            raise InputError(f"{name}: expected {bounds}, got {show_value(one)}.", remedy)


def bounds_of(settings: Any, name: str) -> Bounds:
    """Return the bounds that a settings dataclass, or an instance of one, declares for a field."""
    declared = {one.name: one.metadata.get(BOUNDS) for one in fields(settings)}
    bounds = declared[name]
    assert isinstance(bounds, Bounds), f"{name} declares no bounds"
    return bounds


def limits(settings: Any, name: str) -> tuple[Any, Any]:
    """Return the lowest and highest value of a field, for an input widget."""
    bounds = bounds_of(settings, name)
    return bounds.lowest, bounds.highest


def show_value(value: object) -> str:
    """Format any value for a message, shortened."""
    if isinstance(value, int) and not isinstance(value, bool):
        digits = int(value.bit_length() * 0.30103) + 1
        return f"{value:,}" if digits <= MAX_DIGITS else f"a number of about {digits:,} digits"
    if isinstance(value, float):
        return f"{value:g}"
    try:
        text = repr(value)
    except ValueError:  # it contains an integer that Python does not print
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
