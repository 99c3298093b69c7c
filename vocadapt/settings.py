"""Numeric settings: each declares its lowest and highest value beside its dataclass field, and one function checks them.

    @dataclass(frozen=True)
    class Word2VecSettings:
        epochs: int = bounded(5, 1, 10_000, "Epochs")

        def __post_init__(self) -> None:
            check_settings(self)

Whoever builds the dataclass (command line, page, recipe, JSON, Python) gets the same check; whoever offers the setting
for input reads the same bounds with `bounds_of` or `limits`.
"""

from dataclasses import Field, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, TypeVar

from vocadapt.errors import InputError

T = TypeVar("T")

BOUNDS = "bounds"  # key in the metadata of a dataclass field
LARGEST_SEED = 2**32 - 1  # of NumPy's and scikit-learn's generators, and of gensim's
MAX_SEEDS = 1_000  # values of a list of seeds
MAX_COUNT = 10**9  # words, lines or occurrences: a limit above the size of any text that is read
SMALLEST = 1e-9  # lowest value of a number that must be above 0
LARGEST_RATE = 3.4e38  # of float32: how high is too high depends on the model, and a training that diverges is reported
MINUTES_PER_YEAR = 525_600
MAX_SHOWN = 60  # characters of a value in a message
MAX_DIGITS = 15  # of a whole number in a message


@dataclass(frozen=True)
class Bounds:
    """The lowest and highest value of a number, both included, and what it is called; `most`: of how many, if it is a list."""

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
        """Return whether a value is a number of the right kind within the bounds; booleans, NaN and infinities are not."""
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        return bool(self.lowest <= value <= self.highest)  # type: ignore[operator]



def bounded(default: T, lowest: float, highest: float, label: str) -> T:
    """Declare a numeric setting as a dataclass field; a tuple as default declares a list of such numbers.

    A setting whose default is an int takes whole numbers only.
    """
    sample = default[0] if isinstance(default, tuple) else default
    most = MAX_SEEDS if isinstance(default, tuple) else 1
    kind: type[int] | type[float] = float if isinstance(sample, float) else int
    bounds = Bounds(label, kind(lowest), kind(highest), kind is int, most)
    return field(default=default, metadata={BOUNDS: bounds})


def check_settings(settings: Any) -> None:
    """Check every bounded field of a settings dataclass; raises InputError with the setting's name, value and bounds."""
    for declared in fields(settings):
        bounds = declared.metadata.get(BOUNDS)
        if bounds is not None:
            _check_field(declared, bounds, getattr(settings, declared.name))


def _check_field(declared: Field[Any], bounds: Bounds, value: object) -> None:
    """Raise InputError unless the bounds of a field accept its value, or every one of its values."""
    name = f"{bounds.label} ({declared.name})"
    values = value if isinstance(declared.default, tuple) else (value,)
    if not isinstance(values, tuple) or not 1 <= len(values) <= bounds.most:
        found = f"{len(values):,}" if isinstance(values, tuple) else show_value(values)
        raise InputError(f"{name}: expected 1 to {bounds.most:,} values, got {found}.")
    for one in values:
        if not bounds.accepts(one):
            remedy = "" if isinstance(declared.default, tuple) else f"The default is {show_value(declared.default)}."
            raise InputError(f"{name}: expected {bounds}, got {show_value(one)}.", remedy)


def bounds_of(settings: Any, name: str) -> Bounds:
    """Return the bounds that a settings dataclass, or an instance of one, declares for a field."""
    declared = {one.name: one.metadata.get(BOUNDS) for one in fields(settings)}
    bounds = declared[name]
    assert isinstance(bounds, Bounds), f"{name} declares no bounds"
    return bounds


def limits(settings: Any, name: str) -> tuple[Any, Any]:
    """Return the lowest and highest value of a field, as an input on a page takes them."""
    bounds = bounds_of(settings, name)
    return bounds.lowest, bounds.highest


def show_value(value: object) -> str:
    """Return a value as a message can hold it: of bounded length, whatever it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        digits = int(value.bit_length() * 0.30103) + 1
        return f"{value:,}" if digits <= MAX_DIGITS else f"a number of about {digits:,} digits"
    if isinstance(value, float):
        return f"{value:g}"
    try:
        text = repr(value)
    except ValueError:  # it holds an integer that Python does not print
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
