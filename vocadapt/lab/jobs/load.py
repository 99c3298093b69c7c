"""The load of this machine, and how much longer work takes under it."""

import os

from vocadapt.system.cores import count_cores

IDLE_SLOWDOWN = 1.25  # slowdown below which a machine is considered idle
MAX_SLOWDOWN = 20.0


def estimate_slowdown(load: float | None = None, cores: int | None = None) -> float:
    """Estimate how many times longer work takes under the current load, rounded to halves; 1 if
    idle.

    A job uses all cores and shares them with the other processes.
    load: mean number of running or waiting processes over the last minute; measured by default.
    """
    if load is None:
        load = _read_load_average()
    cores = cores or count_cores()
    factor = min(1 + max(load, 0.0) / cores, MAX_SLOWDOWN)
    if factor < IDLE_SLOWDOWN:
        return 1.0
    return max(1.5, round(2 * factor) / 2)


def _read_load_average() -> float:
    """Return the load average of the last minute; 0 if the system does not report it."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows; a container without /proc
        return 0.0
