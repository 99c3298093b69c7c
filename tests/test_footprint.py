"""Energy, CO2 and cost: against values computed by hand, and with a power counter of files."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.material.stated_numbers import find_numbers
from vocadapt.errors import InputError
from vocadapt.lab.workspace.rates import read_workspace_rates
from vocadapt.system import footprint
from vocadapt.system.footprint import (
    ASSUMED,
    COUNTER,
    GPU,
    Footprint,
    Meter,
    PowerCounter,
    Rates,
    Usage,
    compute_cost,
    compute_footprint,
    compute_strubell,
    estimate_footprint,
    format_basis,
    format_co2,
    format_energy,
    read_gpu_joules,
    read_rates,
    sum_footprints,
)

RATES = Rates("here", 12.0, 1.5, 0.4, (0.01, 0.05))


def processor(folder: Path, microjoules: int, name: str = "intel-rapl:0") -> None:
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "energy_uj").write_text(str(microjoules))
    (place / "max_energy_range_uj").write_text("262143999999")


def test_two_cores_for_an_hour() -> None:
    found = compute_footprint(Usage(0, 0, 0), Usage(3600, 7200, 7200), None, RATES)
    assert found.kwh == pytest.approx(0.036)  # 2 × 12 W × 1 h × 1.5
    assert found.kg_co2 == pytest.approx(0.0144)
    assert (found.basis, found.watts) == (ASSUMED, 24.0)
    assert compute_cost(found, RATES) == pytest.approx((0.02, 0.10))
    assert estimate_footprint(3600, 2, RATES) == found


def test_a_process_is_assigned_its_part_of_the_power_counter() -> None:
    # 100 W for an hour; the machine was busy for 4 core-hours, 1 of them ours.
    found = compute_footprint(Usage(0, 0, 0), Usage(3600, 3600, 4 * 3600), 360_000.0, RATES)
    assert found.kwh == pytest.approx(0.025 * 1.5)
    assert (found.basis, found.watts) == (COUNTER, 25.0)


def test_a_part_is_never_more_than_the_whole() -> None:
    found = compute_footprint(Usage(0, 0, 0), Usage(3600, 3600, 100), 360_000.0, RATES)
    assert found.kwh == pytest.approx(0.15)


def test_the_formula_of_strubell_gives_the_rows_of_the_papers() -> None:
    # Poerner et al. 2020, table of costs: BioBERT 1.0 and 1.1 on 8 V100, and 12 processor cores.
    assert [round(compute_strubell(*row)[1]) for row in ((1505, 240), (1505, 552), (1560, 12))] == [
        544,
        1252,
        28,
    ]


def test_the_counter_sums_processors_and_wraps_around(tmp_path: Path) -> None:
    processor(tmp_path, 262_143_000_000)
    processor(tmp_path, 5_000_000, "intel-rapl:1")
    processor(tmp_path, 1, "intel-rapl:0:0")  # a part of a processor, counted there
    counter = PowerCounter(tmp_path)
    processor(tmp_path, 1_000_000)  # 999,999 + 1 µJ to the wrap, and 1 J after it
    processor(tmp_path, 8_000_000, "intel-rapl:1")
    counter.poll(counter._polled + 1)
    assert counter.joules == pytest.approx(2.0 + 3.0)
    counter.poll(counter._polled + 1e6)  # nobody knows how often it wrapped around
    assert counter.joules is None


class FakeGpus:
    """The driver's library with GPUs: for each the processes, and millijoules."""

    class NVMLError(Exception):
        pass

    def __init__(self, *gpus):
        self.gpus = gpus

    def nvmlInit(self):  # noqa: N802
        if not self.gpus:
            raise self.NVMLError("no driver")

    def nvmlDeviceGetCount(self):  # noqa: N802
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, number):  # noqa: N802
        return self.gpus[number]

    def nvmlDeviceGetComputeRunningProcesses(self, gpu):  # noqa: N802
        return [SimpleNamespace(pid=pid) for pid in gpu[0]]

    def nvmlDeviceGetTotalEnergyConsumption(self, gpu):  # noqa: N802
        if gpu[1] is None:
            raise self.NVMLError("no counter")
        return gpu[1]


def test_gpus_count_that_this_process_uses(monkeypatch) -> None:
    own = os.getpid()
    monkeypatch.setitem(sys.modules, "pynvml", FakeGpus(([own, 1], 5000), ([1], 9000)))
    assert read_gpu_joules() == {0: 5.0}
    monkeypatch.setitem(sys.modules, "pynvml", FakeGpus())
    assert read_gpu_joules() == {}
    monkeypatch.setitem(sys.modules, "pynvml", FakeGpus(([own], None)))
    assert read_gpu_joules() == {}
    monkeypatch.setitem(sys.modules, "pynvml", None)  # the extra is not installed
    assert read_gpu_joules() == {}


def test_a_gpu_counts_from_its_first_use(monkeypatch) -> None:
    """A second GPU is first seen with 70 J on its counter; until the end both use 20 J."""
    readings = iter([{0: 10.0}, {0: 15.0, 1: 70.0}, {0: 20.0, 1: 80.0}])
    monkeypatch.setattr(footprint, "read_gpu_joules", lambda: next(readings))
    meter = Meter(RATES)
    assert (meter.read_gpus(), meter.read_gpus()) == (0.0, 5.0)
    assert meter.read().basis.endswith("GPU counter")
    assert sum(meter.gpu_start.values()) == 80.0


def test_the_energy_of_gpus_is_added() -> None:
    """2 cores for an hour at 12 W, and a GPU at 300 W, with PUE 1.5."""
    hour = Usage(3600, 7200, 7200)
    found = compute_footprint(Usage(0, 0, 0), hour, None, RATES, 300 * 3600)
    assert found.kwh == pytest.approx((0.024 + 0.3) * 1.5)
    assert found.basis.split(", ") == [ASSUMED, GPU] and found.watts == 324.0


def test_without_a_readable_counter_watts_are_assumed(tmp_path: Path) -> None:
    assert PowerCounter(tmp_path).joules is None
    processor(tmp_path, 0)
    (tmp_path / "intel-rapl:0" / "energy_uj").write_text("?")
    assert PowerCounter(tmp_path).joules is None
    meter = Meter(RATES, counter=PowerCounter(tmp_path))
    sum(range(300_000))
    found = meter.read()
    assert found.basis == ASSUMED and found.core_seconds >= 0 and found.seconds > 0


def test_rates_are_declared_once_and_changed_in_a_copy(tmp_path: Path) -> None:
    ours = read_rates()
    assert (ours.country, ours.pue, ours.kg_per_kwh) == ("world", 1.58, 0.475)
    study, workspace = tmp_path / "study.toml", tmp_path / "workspace.toml"
    workspace.write_text('country = "DEU"\nwatts_per_core = 5\n')
    changed = read_rates(workspace, study)
    assert (changed.country, changed.watts_per_core, changed.kg_per_kwh) == ("DEU", 5.0, 0.381)
    study.write_text('country = "home"\n[grid]\nhome = 0.01\n')
    assert read_rates(workspace, study).kg_per_kwh == 0.01


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('country = "Atlantis"', "'Atlantis'"),
        ('pue = "high"', "expected numbers"),
        ("grid = 3", "expected numbers"),
        ("pue = 0.5", "pue of 0.5"),
        ("watts_per_core = nan", "watts_per_core of"),
        ("[grid]\nworld = -1", "intensity of -1"),
        ("[prices]\ncpu_core = 3", "expected numbers"),
        ("[prices]\ncpu_core = [3, 1]", "price of 3"),
    ],
)
def test_rates_that_make_no_sense(tmp_path: Path, text: str, problem: str) -> None:
    copy = tmp_path / "footprint.toml"
    copy.write_text(text)
    with pytest.raises(InputError, match=problem):
        read_rates(copy)


def test_a_study_uses_the_rates_of_the_workspace_around_it(tmp_path: Path) -> None:
    """Also one that is only planned: its folder does not exist yet."""
    (tmp_path / "footprint.toml").write_text("pue = 2.0\nwatts_per_core = 7")
    study = tmp_path / "studies" / "s"
    assert read_workspace_rates(study).pue == 2.0
    study.mkdir(parents=True)
    (study / "footprint.toml").write_text("pue = 3.0")
    rates = read_workspace_rates(study)
    assert (rates.pue, rates.watts_per_core) == (3.0, 7.0)
    assert read_workspace_rates(tmp_path).pue == 2.0
    assert read_workspace_rates(None) == read_workspace_rates(study / "other") == read_rates()


def test_sums_keep_bases_and_factors() -> None:
    hour = Usage(3600, 3600, 3600)
    one = compute_footprint(Usage(0, 0, 0), hour, None, RATES)
    other = compute_footprint(Usage(0, 0, 0), hour, 3.6e6, Rates("there", 1, 1.0, 0.1, (0, 0)))
    total = sum_footprints([one, other])
    assert total is not None and sum_footprints([]) is None
    assert total.kwh == pytest.approx(0.018 + 1.0)
    assert total.kg_co2 == pytest.approx(0.0072 + 0.1)
    assert total.basis.split(" and ") == [ASSUMED, COUNTER] and total.country == "here, there"
    assert total.kwh * total.kg_per_kwh == pytest.approx(total.kg_co2)
    assert total.watts == pytest.approx((12 + 1000) / 2)
    assert Footprint.from_dict(total.to_dict()) == total
    assert Footprint.from_dict({}) is None
    assert Footprint.from_dict({**total.to_dict(), "kwh": None}) is None


def test_numbers_are_rounded_for_people() -> None:
    assert [format_energy(kwh) for kwh in (0.00412, 1234.5, 0.000123, 0.0)] == [
        "0.0041 kWh",
        "1,200 kWh",
        "0.12 Wh",
        "0 Wh",
    ]
    amounts = [format_co2(kg).split()[:2] for kg in (0.0021, 0.00004)]
    assert amounts == [["0.0021", "kg"], ["0.04", "g"]]
    basis = format_basis(estimate_footprint(3600, 2, RATES))
    assert basis.startswith(ASSUMED) and basis.endswith("(here)")
    watts, cores, pue, intensity, _ = find_numbers(basis)  # and the 2 of CO2
    assert (watts, cores, pue, intensity) == (24, 2, 1.5, 0.4)
