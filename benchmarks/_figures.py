"""The figures of a benchmark, each with a baseline of the same run and a target.

A benchmark is a module with a function `measure(full)` that yields its figures; `full` also measures
what takes longer than three minutes. `run` prints them, and writes them as JSON for `python -m
benchmarks`, with how quiet the machine was.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

REPEATS = 5  # of a short measurement; its median counts
WATCHED = 10.0  # seconds before a benchmark in which the machine must be quiet, too
QUIET = 0.1  # processor cores that other processes may use on a quiet machine
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Figure:
    """A measured figure, with its baseline and its target.

    name: what was measured. values: one per round, in `unit`; their median counts. baseline: values
    of `against`, measured in turn with them. speed: the ratio states how many times as fast as the
    baseline, otherwise how large compared with it. target: of the ratio, or of the median without a
    baseline; at_least: the target is a lower bound. note: anything else.
    """

    name: str
    values: tuple[float, ...]
    unit: str = "s"
    baseline: tuple[float, ...] = ()
    against: str = ""
    speed: bool = False
    target: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def median(self) -> float:
        """Median of the values."""
        return statistics.median(self.values)

    @property
    def ratio(self) -> float | None:
        """Median compared with that of the baseline; None without one."""
        if not self.baseline:
            return None
        ratio = self.median / statistics.median(self.baseline)
        return 1 / ratio if self.speed else ratio

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.target is None:
            return None
        judged = self.median if self.ratio is None else self.ratio
        return judged >= self.target if self.at_least else judged <= self.target

    def describe(self) -> str:
        """Describe the figure in one line: its spread, the baseline, and a missed target."""
        text = f"{self.name}: {format_values(self.values, self.unit)}"
        if self.ratio is not None:
            text += f"; {self.against}: {format_values(self.baseline, self.unit)}"
            text += f"; {self.ratio:.3g} × {'as fast' if self.speed else 'as much'}"
        if self.target is not None:
            bound = "at least" if self.at_least else "at most"
            unit = " ×" if self.ratio is not None else f" {self.unit}".rstrip()
            text += f" ({bound} {self.target:g}{unit}{'' if self.is_met else ': **missed**'})"
        return f"{text}; {self.note}" if self.note else text


def format_values(values: Sequence[float], unit: str) -> str:
    """Format a median, with the range of several values."""
    text = f"{statistics.median(values):.3g} {unit}".strip()
    if len(values) > 1:
        text += f" ({min(values):.3g} to {max(values):.3g})"
    return text


def time_in_turn(
    works: dict[str, Callable[[], object]],
    repeats: int = REPEATS,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, tuple[float, ...]]:
    """Return the seconds of each work in each round. The works alternate, so that a change of the
    machine's load changes all of them.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            start = clock()
            work()
            seconds[name].append(clock() - start)
    return {name: tuple(values) for name, values in seconds.items()}


class OtherLoad:
    """Measures how many processor cores other processes use, on average since its creation."""

    def __init__(self) -> None:
        self.start, self.busy, self.own = time.perf_counter(), _read_busy(), _read_own()

    def read(self) -> float:
        """Return the number of cores; this process and those that it started do not count."""
        busy = _read_busy() - self.busy
        own = _read_own() - self.own
        return max(busy - own, 0.0) / (time.perf_counter() - self.start)


def _read_busy() -> float:
    """Return the processor seconds that all processes have used."""
    times = psutil.cpu_times()
    return float(times.user + times.system + getattr(times, "nice", 0.0))


def _read_own() -> float:
    """Return the processor seconds of this process and of those that it started."""
    used = sum(os.times()[:4])
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:  # it has ended
            continue
        used += times.user + times.system + times.children_user + times.children_system
    return used


def run(measure: Callable[[bool], Iterator[Figure]]) -> int:
    """Run a benchmark with the options of the command line; return 1 if it misses a target."""
    parser = argparse.ArgumentParser(
        description=sys.modules[measure.__module__].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--full", action="store_true", help="also measure what takes longer")
    parser.add_argument("--json", type=Path, help="file for the figures", metavar="FILE")
    options = parser.parse_args()
    # 1. Is the machine quiet? This matters only if the figures are kept.
    before = OtherLoad()
    if options.json:
        time.sleep(WATCHED)
    load_before = before.read()
    # 2. The figures.
    during, figures, start = OtherLoad(), [], time.perf_counter()
    for figure in measure(options.full):
        print(figure.describe(), flush=True)
        figures.append(figure)
    seconds = time.perf_counter() - start
    load = max(load_before, during.read())
    print(f"other processes used {load:.2f} cores: {'quiet' if load <= QUIET else 'not quiet'}")
    # 3. Keep them.
    if options.json:
        answer = {
            "figures": [asdict(one) for one in figures],
            "seconds": round(seconds, 1),
            "full": options.full,
            "other_load": round(load, 2),
        }
        options.json.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")
    return int(any(one.is_met is False for one in figures))
