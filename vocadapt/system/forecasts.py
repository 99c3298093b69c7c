"""How long work takes on this machine: `Work` by its size, `Rate` of the machine, load, `Forecast`.

Default rates were measured on two idle cores of 2.5 GHz.
"""

import os
from dataclasses import dataclass, replace

from vocadapt.system.cores import count_cores

DEFAULT_THREADS = 2  # number of threads that the default rates were measured with
IDLE_LOAD = 1.25  # load factor below which a machine is considered idle
MAX_LOAD = 20.0
DEFAULT_RATE = "from a default rate"  # basis of a forecast that no earlier run is known for


@dataclass(frozen=True)
class Work:
    """What there is to do.

    units, unit: its size, such as 300 and "examples". seconds: of the work at the default rate.
    about: what the units are made up of, "" if there is nothing to say. is_timed: whether the time
    is given, so that the number of units follows from the rate.
    """

    units: float
    unit: str
    seconds: float
    about: str = ""
    is_timed: bool = False


@dataclass(frozen=True)
class Forecast:
    """How long work takes.

    start_up, idle_seconds: seconds on an idle machine, before the work begins and of the work.
    basis: where the rate comes from.
    """

    work: Work
    start_up: float
    idle_seconds: float
    basis: str

    @property
    def load(self) -> float:
        """How many times longer it takes under the present load of this machine."""
        return measure_load_factor()

    @property
    def total_idle_seconds(self) -> float:
        """Seconds on an idle machine, start-up included."""
        return self.start_up + self.idle_seconds

    @property
    def seconds(self) -> float:
        """Seconds under the load of this machine, start-up included."""
        return self.start_up * self.load + self.seconds_without_start_up

    @property
    def seconds_without_start_up(self) -> float:
        """Seconds of the work itself under the load of this machine."""
        return self.idle_seconds if self.work.is_timed else self.idle_seconds * self.load

    @property
    def units(self) -> float:
        """Number of units; a busy machine finishes fewer in a given time."""
        return self.work.units / self.load if self.work.is_timed else self.work.units


@dataclass(frozen=True)
class Rate:
    """How fast this machine is when it is idle.

    slowness: seconds divided by those at the default rate. start_up: seconds before the work
    begins. n_runs: number of earlier runs that the slowness was measured in; 0 for the default
    rate.
    """

    slowness: float = 1.0
    start_up: float = 0.0
    n_runs: int = 0

    @property
    def basis(self) -> str:
        """Where the slowness comes from."""
        if not self.n_runs:
            return DEFAULT_RATE
        return f"from {self.n_runs} earlier run{'s' * (self.n_runs != 1)}"

    def forecast(self, work: Work) -> Forecast:
        """Return how long work takes at this rate."""
        if work.is_timed:
            work = replace(work, units=work.units / self.slowness)
            return Forecast(work, self.start_up, work.seconds, self.basis)
        return Forecast(work, self.start_up, work.seconds * self.slowness, self.basis)


def forecast_at_default_rate(work: Work) -> Forecast:
    """Return how long work takes that no step does, so that no earlier run shows its rate."""
    return Rate().forecast(work)


def measure_load_factor(load: float | None = None, cores: int | None = None) -> float:
    """Return how many times longer work takes under the present load, rounded to halves; 1 if idle.

    Work uses all cores and shares them with the other processes.
    load: mean number of running or waiting processes over the last minute; measured by default.
    """
    if load is None:
        load = _read_load_average()
    cores = cores or count_cores()
    factor = min(1 + max(load, 0.0) / cores, MAX_LOAD)
    if factor < IDLE_LOAD:
        return 1.0
    return max(1.5, round(2 * factor) / 2)


def _read_load_average() -> float:
    """Return the load average of the last minute; 0 if the system does not report it."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows; a container without /proc
        return 0.0
