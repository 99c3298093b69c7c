"""Energy, CO2 and cloud cost of a computation: by a power counter, or by assumed watts per core.

    kWh = watts × hours × PUE,    kg CO2 = kWh × grid intensity

Watts come from the power counter of the processors (RAPL), and a process is assigned its fraction
of the machine's busy time. If no counter can be read, they come from the core-hours of the process
and an assumed power. The energy of NVIDIA GPUs is added, by the counter of their driver, if the
extra `gpu` is installed; others are not measured.

Why not codecarbon (3.3, measured on two cores): its offline tracker makes no network call and is
imported in 0.2 s, but it takes 2 to 3 s to start, once for each step; it keeps two threads, and
counts the memory of the machine (a constant 10 W here) again for each process that runs beside
another.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.settings import show_value
from vocadapt.system.files import read_toml

RATES = "footprint.toml"  # beside this module, and in a workspace
POWERCAP = Path("/sys/class/powercap")
HIGHEST_WATTS = 1000.0  # of a processor: a counter that is read more often has wrapped around once
POLL_EVERY = 30.0  # seconds
JOULES_PER_KWH = 3.6e6
STRUBELL_PUE, STRUBELL_LBS_PER_KWH = 1.58, 0.954  # Strubell et al. 2019, section 2
COUNTER, ASSUMED, UNKNOWN = "power counter", "assumed watts", "unknown"
GPU = "GPU counter"


@dataclass(frozen=True)
class Rates:
    """Conversion rates: watts of a core in use, PUE, kg CO2 per kWh of a country, and USD per
    core-hour of a cloud, lowest and highest.
    """

    country: str
    watts_per_core: float
    pue: float
    kg_per_kwh: float
    usd_per_core_hour: tuple[float, float]


@dataclass(frozen=True)
class Footprint:
    """Time, energy and CO2 of a computation; kwh includes the overhead of the data center (PUE).

    basis: COUNTER or ASSUMED watts of the processors, with GPU if a GPU was measured; several for a
        sum. watts: mean power of the computation itself.
    A step that is resumed counts from its checkpoint.
    """

    seconds: float
    core_seconds: float
    kwh: float
    kg_co2: float
    basis: str
    watts: float
    pue: float
    kg_per_kwh: float
    country: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Footprint | None":
        """Read what `to_dict` returned; None for anything else, such as that of an older version."""
        try:
            texts = {name: str(values[name]) for name in ("basis", "country")}
            names = [name for name in cls.__dataclass_fields__ if name not in texts]
            return cls(**{name: float(values[name]) for name in names}, **texts)  # type: ignore[arg-type]
        except (KeyError, TypeError, ValueError):
            return None


@dataclass(frozen=True)
class Usage:
    """Readings of clocks, in seconds: wall time, CPU time of this process and its ended children,
    and CPU time of all processes of the machine.
    """

    clock: float
    own: float
    machine: float


def read_rates(*copies: Path) -> Rates:
    """Read the rates of the program, overridden by those copies that exist; the last has
    precedence.

    Raises InputError for a country without a grid intensity and for values that are no numbers.
    """
    place = Path(__file__).with_name(RATES)
    values: dict[str, Any] = read_toml(place)
    try:
        for copy in filter(Path.is_file, copies):
            place = copy
            own = read_toml(copy)
            tables = {name: {**values[name], **own.get(name, {})} for name in ("grid", "prices")}
            values |= own | tables
        rates = _build_rates(values)
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{place.name}: expected numbers and names as in the file of the program.",
            "Correct the file, or remove it.",
        ) from error
    except KeyError as error:
        raise InputError(
            f"{place.name}: there is no grid intensity of {show_value(values['country'])}.",
            f"Choose one of: {', '.join(map(str, values['grid']))}; or add it under [grid].",
            code="unknown-choice",
        ) from error
    for what, value, low, high in (
        ("watts_per_core", rates.watts_per_core, 0.01, HIGHEST_WATTS),
        ("pue", rates.pue, 1.0, 10.0),
        ("a grid intensity", rates.kg_per_kwh, 0.0, 10.0),
        ("a price", rates.usd_per_core_hour[0], 0.0, rates.usd_per_core_hour[1]),
    ):
        if not low <= value <= high:
            raise InputError(
                f"{place.name}: {what} of {value:g} is not possible.",
                f"Enter a number from {low:g} to {high:g}.",
            )
    return rates


def _build_rates(values: Mapping[str, Any]) -> Rates:
    low, high = values["prices"]["cpu_core"]
    return Rates(
        str(values["country"]),
        float(values["watts_per_core"]),
        float(values["pue"]),
        float(values["grid"][str(values["country"])]),
        (float(low), float(high)),
    )


def read_usage(with_children: bool = True) -> Usage:
    """Return the seconds used so far."""
    import psutil

    times = os.times()
    machine = psutil.cpu_times()
    own = times.user + times.system
    if with_children:
        own += times.children_user + times.children_system
    idle = machine.idle + getattr(machine, "iowait", 0.0)
    # Guests are part of the user's time.
    guests = getattr(machine, "guest", 0.0) + getattr(machine, "guest_nice", 0.0)
    return Usage(time.perf_counter(), own, sum(machine) - idle - guests)


@dataclass(eq=False)
class PowerCounter:
    """Joules of all processors of this machine, summed over the readings of their counters.

    A counter wraps around after some minutes of full power, so it must be polled; if it was not, or
    cannot be read, `joules` is None.
    """

    folder: Path = POWERCAP
    joules: float | None = 0.0
    _last: dict[Path, int] = field(default_factory=dict)
    _polled: float = 0.0

    def __post_init__(self) -> None:
        # The processors are intel-rapl:0, intel-rapl:1, …; parts of one have another colon.
        for place in sorted(self.folder.glob("intel-rapl:*")):
            if place.name.count(":") == 1:
                self._last[place] = -1
        self.poll(time.perf_counter())

    def poll(self, now: float) -> None:
        """Add what was used since the last call."""
        if not self._last:
            self.joules = None
        if self.joules is None:
            return
        try:
            for place, before in self._last.items():
                value = int((place / "energy_uj").read_text())
                range_size = int((place / "max_energy_range_uj").read_text()) + 1
                if before >= 0:
                    self.joules += (value - before) % range_size / 1e6
                    if (now - self._polled) * HIGHEST_WATTS > range_size / 1e6:
                        self.joules = None  # it may have wrapped around more than once
                        return
                self._last[place] = value
        except (OSError, ValueError):  # usually readable by administrators only
            self.joules = None
            return
        self._polled = now


def read_gpu_joules() -> dict[int, float]:
    """Read the energy counter of each NVIDIA GPU on which this process computes, by its number.

    Empty if there is none, if the extra `gpu` is not installed, and for GPUs without a counter
    (older than Volta). A counter counts all processes of its GPU.
    """
    try:
        import pynvml
    except ImportError:
        return {}
    joules = {}
    with suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        for number in range(pynvml.nvmlDeviceGetCount()):
            gpu = pynvml.nvmlDeviceGetHandleByIndex(number)
            computing = {one.pid for one in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)}
            if os.getpid() in computing:
                joules[number] = pynvml.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1e3
    return joules


@dataclass(eq=False)
class Meter:
    """Measures the computation of this process from its creation on.

    The energy of a GPU counts from the first `poll` after this process began to use it.
    """

    rates: Rates
    with_children: bool = True
    counter: PowerCounter = field(default_factory=PowerCounter)
    start: Usage = field(init=False)
    gpu_start: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start = read_usage(self.with_children)
        self._polled = self.start.clock

    def poll(self) -> None:
        """Read the power counter every POLL_EVERY seconds; call this often."""
        now = time.perf_counter()
        if now - self._polled >= POLL_EVERY:
            self._polled = now
            self.counter.poll(now)
            self.read_gpus()

    def read_gpus(self) -> float:
        """Return the joules that the GPUs used since they were first seen in use."""
        joules = 0.0
        for number, value in read_gpu_joules().items():
            joules += value - self.gpu_start.setdefault(number, value)
        return joules

    def read(self) -> Footprint:
        """Return the footprint until now."""
        self.counter.poll(time.perf_counter())
        usage = read_usage(self.with_children)
        return compute_footprint(
            self.start, usage, self.counter.joules, self.rates, self.read_gpus()
        )


def compute_footprint(
    before: Usage, after: Usage, joules: float | None, rates: Rates, gpu_joules: float = 0.0
) -> Footprint:
    """Compute the footprint between two readings.

    joules: of all processors; None if not measured. gpu_joules: of the GPUs in use.

    Example: 2 cores for an hour at 12 W and PUE 1.5 are 0.036 kWh.
    """
    seconds = after.clock - before.clock
    own = after.own - before.own
    basis = ASSUMED
    used = own * rates.watts_per_core
    if joules is not None:
        busy = max(after.machine - before.machine, own)
        basis = COUNTER
        used = joules * (own / busy if busy else 0.0)
    if gpu_joules:
        basis = f"{basis}, {GPU}"
        used = used + gpu_joules
    kwh = used / JOULES_PER_KWH * rates.pue
    watts = used / seconds if seconds else 0.0
    return Footprint(
        seconds,
        own,
        kwh,
        kwh * rates.kg_per_kwh,
        basis,
        watts,
        rates.pue,
        rates.kg_per_kwh,
        rates.country,
    )


def estimate_footprint(seconds: float, cores: float, rates: Rates) -> Footprint:
    """Estimate the footprint of a computation that is planned: seconds on a number of cores."""
    start = Usage(0.0, 0.0, 0.0)
    return compute_footprint(start, Usage(seconds, seconds * cores, 0.0), None, rates)


def sum_footprints(parts: list[Footprint]) -> Footprint | None:
    """Return the sum of footprints; None if there are none.

    Different bases are listed; different factors are averaged, weighted by energy.
    """
    if not parts:
        return None
    kwh = sum(one.kwh for one in parts)
    seconds = sum(one.seconds for one in parts)
    computers = sum(one.kwh / one.pue for one in parts)
    total = replace(
        parts[0],
        seconds=seconds,
        core_seconds=sum(one.core_seconds for one in parts),
        kwh=kwh,
        kg_co2=sum(one.kg_co2 for one in parts),
        basis=" and ".join(sorted({one.basis for one in parts})),
        watts=computers * JOULES_PER_KWH / seconds if seconds else 0.0,
        country=", ".join(sorted({one.country for one in parts})),
    )
    if not kwh:
        return total
    return replace(total, pue=kwh / computers, kg_per_kwh=total.kg_co2 / kwh)


def compute_cost(footprint: Footprint, rates: Rates) -> tuple[float, float]:
    """Return the lowest and highest price of the core-hours of a footprint in a cloud, in USD."""
    hours = footprint.core_seconds / 3600
    low, high = rates.usd_per_core_hour
    return hours * low, hours * high


def compute_strubell(watts: float, hours: float) -> tuple[float, float]:
    """Return kWh and lbs of CO2 of devices from their watts and hours (Strubell et al. 2019).

    Example: 1505 W for 240 hours are 571 kWh and 544 lbs.
    """
    kwh = STRUBELL_PUE * watts * hours / 1000
    return kwh, STRUBELL_LBS_PER_KWH * kwh


def format_energy(kwh: float) -> str:
    """Format an energy with two significant digits: 0.004 kWh; 0.31 Wh."""
    if kwh < 0.0005:
        return f"{_round(kwh * 1000)} Wh"
    return f"{_round(kwh)} kWh"


def format_co2(kg: float) -> str:
    """Format a mass of CO2 with two significant digits: 0.002 kg; 0.15 g."""
    if kg < 0.0005:
        return f"{_round(kg * 1000)} g CO2"
    return f"{_round(kg)} kg CO2"


def format_basis(footprint: Footprint) -> str:
    """Describe the basis of an estimate of energy and CO2, as a part of a sentence."""
    cores = footprint.core_seconds / footprint.seconds if footprint.seconds else 0.0
    return (
        f"{footprint.basis}: {footprint.watts:.2g} W on average, {cores:.1f} cores in use;"
        f" PUE {footprint.pue:.3g}; grid intensity {footprint.kg_per_kwh:.3g} kg CO2 per kWh"
        f" ({footprint.country})"
    )


def _round(value: float) -> str:
    """Format a number with two significant digits, without an exponent."""
    text = f"{float(f'{value:.2g}'):,.9f}"
    return text.rstrip("0").rstrip(".")
