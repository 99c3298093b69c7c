"""The runs of a study's cells as one set for all seeds: in its folder each seed is a run."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from vocadapt.lab.experiments.studies.cell_step import STEP_NAME
from vocadapt.lab.results.runs import RunSet
from vocadapt.lab.workspace.workspace import Workspace

SEEDED = re.compile(r"(.+)-seed-\d+-[0-9a-f]+")  # the name of a cell; group 1: variant and task


def is_study(workspace: Workspace) -> bool:
    """Return whether a workspace is the folder of a study."""
    return workspace.root.parent.name == "studies"


def describe_cell(name: str, seeds: Sequence[int]) -> str:
    """Describe the run of a cell by variant and task, and its seed; other runs by their name.

    Example: plain-t-seed-1-0f…, 1 → plain-t · seed 1.
    """
    found = SEEDED.fullmatch(name)
    if found is None:
        return name
    return f"{found[1]} · seed {', '.join(map(str, seeds))}"


def merge_seeds(runs: Sequence[RunSet]) -> list[RunSet]:
    """Merge runs that differ in their seed alone into one set, named after variant and task; other
    runs stay as they are.

    Example: plain-t-seed-1-0f…, plain-t-seed-2-9c… → plain-t with two runs.
    """
    # 1. The cells of one variant and task, in the order of the runs.
    groups: dict[tuple[str, str], list[RunSet]] = {}
    for one in runs:
        groups.setdefault(_identify(one), []).append(one)

    # 2. One set each. The same name twice is that of an earlier form of the study's file.
    merged = list[RunSet]()
    taken = set[str]()
    for (name, _), own in groups.items():
        if not name:
            merged += own
            continue
        digest = own[0].name.rpartition("-")[2]
        unique = f"{name}-{digest}" if name in taken else name
        taken.add(unique)
        seeds = {run.seed: run for one in own for run in one.runs}
        ordered = tuple(seeds[seed] for seed in sorted(seeds))
        merged.append(replace(own[0], folder=own[0].folder.parent / unique, runs=ordered))
    return merged


def _identify(one: RunSet) -> tuple[str, str]:
    """Return variant and task of a cell, and all but its seed that it was made from; ("", its name)
    for any other run.
    """
    found = SEEDED.fullmatch(one.name)
    if (
        one.artifact is None
        or found is None
        or not STEP_NAME.fullmatch(one.name)
        or len(one.runs) > 1
    ):
        return "", one.name
    manifest = one.artifact.manifest
    settings = {name: value for name, value in manifest.settings.items() if name != "seeds"}
    inputs = {role: (given.paths, given.stamp) for role, given in manifest.inputs.items()}
    made_from = json.dumps([settings, inputs, manifest.threads], sort_keys=True, default=str)
    return found[1], made_from
