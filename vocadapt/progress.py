"""How work reports itself: a callable that is given a fraction and a message, silent by default; times and counts in words.

A caller that wants the work to stop raises `Cancelled` from its Progress.
"""

from collections.abc import Mapping
from typing import Protocol

NARROW = "\N{NARROW NO-BREAK SPACE}"


class Progress(Protocol):
    """Called as `progress(fraction, message)`; fraction from 0 to 1, or None where the end is unknown."""

    def __call__(self, fraction: float | None, message: str = "") -> None: ...


def silent(fraction: float | None, message: str = "") -> None:
    """Report nothing."""


def part(progress: Progress, start: float, end: float, name: str = "") -> Progress:
    """Give a sub-task its own Progress from 0 to 1, shown as `start` to `end` of the whole, its messages under its name."""

    def report(fraction: float | None, message: str = "") -> None:
        told = ": ".join(filter(None, (name, message)))
        progress(None if fraction is None else start + (end - start) * fraction, told)

    return report


def parts(progress: Progress, weights: Mapping[str, float]) -> dict[str, Progress]:
    """Cut the whole into parts that follow each other, as long as their weights; one of weight 0 tells where it stands."""
    whole, done, found = sum(weights.values()) or 1.0, 0.0, {}
    for name, weight in weights.items():
        found[name] = part(progress, done / whole, (done + weight) / whole)
        done += weight
    return found


def count(value: int) -> str:
    """A whole number, in groups of three: 9 881."""
    return f"{value:,}".replace(",", NARROW)


def duration(seconds: float) -> str:
    """A time a person can plan with: 4 s, 2 min, 1 h 20 min."""
    if seconds < 90:
        return f"{max(seconds, 0):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
