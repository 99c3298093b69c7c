"""How long a step takes: its work, at the rate of the earlier runs in its workspace.

A manifest records the work of a run, its start-up and the load of the machine (`timing`). The runs
that are nearest to the planned one give the rate; without any, the rate is the default one.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.steps.guards import Guard, build_minutes_guard
from vocadapt.lab.steps.step import PlannedStep
from vocadapt.lab.workspace.manifest import Manifest, find_outer_root, name_path
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.system.cores import count_cores
from vocadapt.system.forecasts import MAX_LOAD, Forecast, Rate

MAX_RUNS = 5  # number of runs that a rate is measured in
MAX_LISTED = 1000  # number of latest runs among which the nearest are looked for
MIN_SECONDS = 1.0  # of work: shorter runs do not show the rate


def forecast_step(planned: PlannedStep) -> Forecast | None:
    """Return how long a step takes; None if it declares no work.

    Raises InputError if an input cannot be read.
    """
    work = planned.measure_work()
    return learn_rate(planned).forecast(work) if work else None


def find_minutes_guards(planned: PlannedStep) -> Iterator[Guard]:
    """Yield how long a step takes, if that is known."""
    forecast = forecast_step(planned)
    if forecast is not None:
        yield build_minutes_guard(forecast)


def learn_rate(planned: PlannedStep) -> Rate:
    """Return the rate of a step when the machine is idle.

    1. The start-up is the median of the latest runs of the step.
    2. Of the runs with enough work, the nearest ones count: those with the most inputs in common,
       and among them those with the fewest other settings.
    3. The slowness is the median of those that began on an idle machine; if there are none, of the
       others, each corrected by its load, which is less exact: it may have ended during the run.
       Two runs of 30 and 50 s with 10 s of work at the default rate: slowness 4.
    """
    # 1. The start-up.
    runs = list(islice(_list_runs(planned), MAX_LISTED))
    start_ups = [timing["start_up"] / timing["load"] for _, timing in runs[:MAX_RUNS]]
    start_up = median(start_ups or [planned.spec.declaration.start_up])

    # 2. The nearest runs.
    settings = json.loads(json.dumps(asdict(planned.spec.settings)))
    inputs: dict[Path, dict[str, str]] = {}  # as a manifest of each workspace names them
    near: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for made, timing in runs:
        seconds = made.manifest.seconds - timing["start_up"]
        if seconds < MIN_SECONDS or not timing["work"]:
            continue
        root = made.folder.parents[1]
        if root not in inputs:
            inputs[root] = _name_inputs(planned, root)
        others = sum(
            not _is_same_input(made.manifest, role, name) for role, name in inputs[root].items()
        )
        differences = _count_differences(settings, made.manifest.settings)
        measured = (timing["load"], seconds / timing["load"] / timing["work"])
        near.setdefault((others, differences), []).append(measured)
    if not near:
        return Rate(start_up=start_up)
    nearest = near[min(near)][:MAX_RUNS]

    # 3. Their slowness.
    idle = [slowness for load, slowness in nearest if load == 1]
    found = idle or [slowness for _, slowness in nearest]
    return Rate(median(found), start_up, len(found))


def record_work(planned: PlannedStep) -> dict[str, float]:
    """Return what a manifest records of the work of a step before it runs, seconds at the default
    rate; empty if it is unknown, or if the settings give the time, which then shows no rate.
    """
    with suppress(InputError, OSError):  # the step itself reports what it cannot read
        work = planned.measure_work()
        if work is not None and not work.is_timed:
            return {"work": work.seconds, "cores": count_cores()}
    return {}


def _list_runs(planned: PlannedStep) -> Iterator[tuple[Artifact, Mapping[str, float]]]:
    """Yield the results of a step with their recorded times, newest first: of its workspace, then
    of the one around it, which a study or a search lies in.
    """
    if planned.root is None:
        return
    step = planned.spec.declaration
    for root in dict.fromkeys((planned.root.resolve(), find_outer_root(planned.root).resolve())):
        for artifact in Workspace(root).artifacts(step.makes):
            if artifact.manifest.step == step.name and _has_timing(artifact.manifest):
                yield artifact, artifact.manifest.timing


def _has_timing(manifest: Manifest) -> bool:
    """Return whether a manifest records a time that shows the rate of this machine: that of one
    with as many cores. It may come from elsewhere.
    """
    cores = count_cores()
    limits = {
        "work": (0, 1e12),
        "start_up": (0, manifest.seconds),
        "load": (1, MAX_LOAD),
        "cores": (cores, cores),
    }
    return all(
        isinstance(value := manifest.timing.get(name), int | float) and low <= value <= high
        for name, (low, high) in limits.items()
    )


def _name_inputs(planned: PlannedStep, root: Path) -> dict[str, str]:
    """Return the first path of each input as a manifest in a workspace names it."""
    names = {}
    for role, paths in planned.spec.absolute().inputs.items():
        path = Path(paths[0])
        if role == "model" and not path.is_absolute():  # the name of a hub model
            path = planned.inputs.model.path
        names[role] = name_path(path, root)
    return names


def _is_same_input(manifest: Manifest, role: str, name: str) -> bool:
    """Return whether a manifest has this input; of the folder of a task, its files are recorded."""
    if role not in manifest.inputs:
        return False
    recorded = manifest.inputs[role].paths[0]
    return recorded == name or recorded.startswith(f"{name}/")


def _count_differences(one: Any, other: Any) -> int:
    """Return the number of different values in two nested mappings."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return sum(_count_differences(one.get(name), other.get(name)) for name in {*one, *other})
    return int(one != other)
