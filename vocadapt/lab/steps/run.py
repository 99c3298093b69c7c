"""`run_step`: a spec in, an artifact out; and the checkpoints that a stopped step resumes from.

Command line, pages and jobs all run a step this way.
"""

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.forecasts import record_work
from vocadapt.lab.steps.guards import Guard
from vocadapt.lab.steps.step import PlannedStep, Spec, StepContext
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.disk_space import FLOOR
from vocadapt.lab.workspace.drafts import convert_write_errors, open_draft, open_growing
from vocadapt.lab.workspace.manifest import MANIFEST, Input, Manifest, find_versions
from vocadapt.lab.workspace.rates import read_workspace_rates
from vocadapt.lab.workspace.workspace import Artifact, find_root, open_artifact
from vocadapt.models.adapted_model import RECORD, add_footprint
from vocadapt.progress import Progress, silent
from vocadapt.system.files import check_output_path, use_scratch
from vocadapt.system.footprint import Meter
from vocadapt.system.forecasts import MAX_LOAD, measure_load_factor
from vocadapt.system.json_values import list_known_fields, plain

SCRATCH = ".scratch"  # folder in the draft for temporary files
CHECKPOINT = "checkpoint"  # <job>/checkpoint/
MADE_FROM = "made_from.json"  # in it: the stamps of the inputs that the checkpoint was made from


def run_step(
    spec: Spec,
    folder: Path,
    progress: Progress = silent,
    overwrite: bool = False,
    job: Path | None = None,
    keep: Path | None = None,
    threads: int = 0,
    report_guard: Callable[[Guard], None] | None = None,
    load: float = MAX_LOAD,
) -> Artifact:
    """Run one step and write its artifact to `folder`, completely or not at all.

    `job`: folder of the job that runs the step; it holds the step's checkpoints, and the manifest
    names the job. `keep`: folder for checkpoints without a job; the same step resumes from it, and
    removes it when done. `threads`: number of threads of this process, if it was fixed.
    `report_guard`: receives each guard of the step when its work begins; the manifest keeps them.
    `load`: load factor of the machine when the step was ordered; the present one may still hold the
    job before it.
    Raises InputError for mistakes in the spec, if `folder` exists, and if the disk is full.
    """
    start = time.perf_counter()
    folder = Path(folder)
    spec.check_distinct_inputs()
    _check_output_outside_inputs(spec, folder)
    size = spec.estimate_bytes()
    grows = spec.declaration.grows
    opened = open_draft(folder, overwrite, size, FLOOR)
    if grows:
        opened = open_growing(folder, size, FLOOR)
    with opened as draft:
        # 1. What is known before the step: its guards, and its inputs, so that what changes
        #    meanwhile makes its result stale.
        root = find_root(folder)
        guards: tuple[Guard, ...] = ()
        if report_guard is not None:
            guards = spec.find_guards(root, folder)
        # The cells of a study have their own meters.
        meter = Meter(read_workspace_rates(root), with_children=not grows)
        watch = _StartWatch(progress, meter, guards, report_guard)
        opened_inputs = spec.open_inputs()
        inputs = opened_inputs.record(root)
        checkpoint = _prepare_checkpoint(job, keep, spec, inputs)
        timing: dict[str, float] = {}  # a resumed run does only a part of the work
        if checkpoint is None or os.listdir(checkpoint) == [MADE_FROM]:
            timing = record_work(PlannedStep(spec, opened_inputs, folder, root, threads))
        timing["load"] = min(load, measure_load_factor())

        # 2. The step. An artifact that grows is listed from now on.
        if grows:
            shutil.rmtree(draft / SCRATCH, ignore_errors=True)  # of a killed run
        if grows and not (draft / MANIFEST).exists():
            _describe_artifact(spec, folder, inputs).save(draft, lists_files=False)
        context = StepContext(spec, opened_inputs, draft, root, watch, checkpoint)
        with use_scratch(draft / SCRATCH):
            numbers = spec.declaration.run(context, spec.settings)
        if context.used:
            spec = replace(spec, settings=context.used[-1])

        # 3. Its footprint, timing and manifest. The worker of a study's cells loads the libraries
        #    only once.
        timing["start_up"] = 0.0 if threads else max(0.0, watch.begin - start)
        footprint = meter.read()
        if spec.kind == "models" and (draft / RECORD).is_file():
            add_footprint(draft, spec.step, footprint)
        replace(
            _describe_artifact(spec, folder, inputs),
            numbers=list_known_fields(numbers) if is_dataclass(numbers) else numbers,
            seconds=time.perf_counter() - start,
            job=job.name if job else "",
            threads=threads,
            footprint=footprint.to_dict(),
            timing=timing,
            guards=tuple(map(plain, guards)),
        ).save(draft, lists_files=not grows)
    if keep is not None and not job:
        shutil.rmtree(keep, ignore_errors=True)
    return open_artifact(folder)


def _describe_artifact(spec: Spec, folder: Path, inputs: Mapping[str, Input]) -> Manifest:
    """Return the manifest of an artifact without its results."""
    return Manifest(
        kind=spec.kind,
        name=folder.name,
        settings=asdict(spec.settings),
        inputs=inputs,
        step=spec.step,
        versions=find_versions(spec.declaration.libraries),
        seed=spec.seed,
        command=build_command(spec, folder),
        casing=spec.casing,
    )


class _StartWatch:
    """A progress function that also polls the power counter.

    It records when the work begins (`begin`, 0.0 before), at the first fraction above 0, and
    reports the guards then: input that a step refuses before that gets only its own message.
    """

    def __init__(
        self,
        progress: Progress,
        meter: Meter,
        guards: Sequence[Guard],
        report_guard: Callable[[Guard], None] | None,
    ) -> None:
        self.progress, self.meter, self.begin = progress, meter, 0.0
        self._guards, self._report_guard = guards, report_guard

    def __call__(self, fraction: float | None, message: str = "") -> None:
        if fraction and not self.begin:
            self.begin = time.perf_counter()
            if self._report_guard:
                for guard in self._guards:
                    self._report_guard(guard)
        self.meter.poll()
        self.progress(fraction, message)


def _check_output_outside_inputs(spec: Spec, folder: Path) -> None:
    """Raise InputError if the output would replace one of the inputs, or a folder that contains it."""
    check_output_path(folder)
    if spec.declaration.grows:  # filled in place, never replaced: the file of a study may lie in it
        return
    place = folder.resolve()
    for role, paths in spec.inputs.items():
        for path in map(os.path.expanduser, paths):
            if not os.path.exists(path):  # a hub name
                continue
            if not Path(path).resolve().is_relative_to(place):
                continue
            raise InputError(
                f"{folder} is, or contains, the {role} that it would be made from.",
                "Choose another output folder.",
                code="output-is-input",
            )


def _prepare_checkpoint(
    job: Path | None, keep: Path | None, spec: Spec, inputs: Mapping[str, Input]
) -> Path | None:
    """Return the folder of the checkpoints of a step, None without any.

    That of a job is emptied if its checkpoint was made from other inputs. Raises InputError if the
    one that was given holds anything else, such as those of another step.
    """
    folder = job / CHECKPOINT if job else keep
    if folder is None:
        return None
    stamps = {role: given.stamp for role, given in inputs.items()}
    made_from: dict[str, Any] = {"inputs": stamps}
    if not job:
        made_from["spec"] = spec.to_json()
    with suppress(InputError):
        if strict_json.read(folder / MADE_FROM) == made_from:
            return folder
    if job:
        shutil.rmtree(folder, ignore_errors=True)
    elif folder.is_dir() and any(folder.iterdir()):
        raise InputError(
            f"{folder} does not hold the checkpoints of this command, with these settings and"
            " these inputs.",
            "Run the command that was stopped, or give another folder.",
            code="other-checkpoints",
        )
    is_new = not folder.exists()
    with convert_write_errors(folder, remedy="Choose another folder."):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            strict_json.write(folder / MADE_FROM, made_from)
        except OSError:
            if is_new:
                folder.rmdir()
            raise
    return folder
