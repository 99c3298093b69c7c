"""Progress reports: a callable that takes a fraction and a message; formatting of times and counts.

A caller that wants the work to stop raises `Canceled` from its Progress. The tokenizers library
cannot be interrupted, so `report_block` reports the start and end of each block of lines, and a
watchdog in another process (`vocadapt.lab.jobs.watchdog`) can stop a block that takes too long.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

NARROW = "\N{NARROW NO-BREAK SPACE}"


class Progress(Protocol):
    """Called as `progress(fraction, message)`; fraction from 0 to 1, or None if the end is unknown."""

    def __call__(self, fraction: float | None, message: str = "") -> None: ...


def silent(fraction: float | None, message: str = "") -> None:
    """Report nothing."""


# Called with the name of a block when it starts, and with None when it ends.
BlockWatch = Callable[[str | None], None]


class _Blocks:
    """State of this process: the function that receives the reports, and whether a block is open."""

    watch: BlockWatch | None = None
    reported = False


def watch_blocks(watch: BlockWatch | None) -> None:
    """Report every tokenized block of lines of this process to `watch` from now on; None stops the
    reports.
    """
    _Blocks.watch = watch


@contextmanager
def report_block(block: str) -> Iterator[None]:
    """Context manager: report that the named block of lines is being tokenized.

    A block inside another one is not reported: the outer one names the file.
    """
    watch = _Blocks.watch
    if watch is None or _Blocks.reported:
        yield
        return
    _Blocks.reported = True
    watch(block)
    try:
        yield
    finally:
        # Also report the end of a canceled block.
        _Blocks.reported = False
        watch(None)


def part(progress: Progress, start: float, end: float, name: str = "") -> Progress:
    """Return the Progress of a subtask: fractions are mapped from [0, 1] to [start, end], and
    messages are prefixed with the name.
    """

    def report(fraction: float | None, message: str = "") -> None:
        if fraction is not None:
            fraction = start + (end - start) * fraction
        progress(fraction, ": ".join(filter(None, (name, message))))

    return report


def parts(progress: Progress, weights: Mapping[str, float]) -> dict[str, Progress]:
    """Divide a Progress into consecutive parts, proportional to their weights.

    A part of weight 0 does not advance the fraction.
    """
    whole = sum(weights.values()) or 1.0
    done = 0.0
    found = {}
    for name, weight in weights.items():
        found[name] = part(progress, done / whole, (done + weight) / whole)
        done += weight
    return found


def count(value: int) -> str:
    """Format a whole number with its digits in groups of three: 9 881."""
    return f"{value:,}".replace(",", NARROW)


def duration(seconds: float) -> str:
    """Format a duration, rounded: 4 s, 2 min, 1 h 20 min."""
    if seconds < 90:
        return f"{max(seconds, 0):.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def percent(value: float | None) -> str:
    """Format a fraction of things in percent: .163 is 16.3 %, .0242 is 2.42 %, .00051 is 0.051 %.

    Only 0 and 1 are formatted as 0 % and 100 %; None and NaN as –.
    """
    if value is None or not math.isfinite(value):
        return "–"
    size = round(abs(100 * value), 7)
    if size in (0, 100):
        return f"{100 * value:.0f} %".replace("-0", "0")
    digits = 1
    if size < 10:
        digits = 2
    if size < 1:
        digits = 1 - math.floor(math.log10(size))
    while size < 100 and float(f"{size:.{digits}f}") == 100:
        digits += 1
    text = f"{100 * value:.{digits}f}"
    if float(text).is_integer():
        text = f"{float(text):.0f}"
    return f"{text} %"
