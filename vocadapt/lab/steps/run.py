"""`run_step`: a spec in, an artifact out.

Command line, pages and jobs all run a step this way.
"""

import os
import shutil
import time
from dataclasses import asdict
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import check_output_path, use_scratch
from vocadapt.lab.steps.checkpoints import prepare_job_checkpoint, prepare_own_checkpoint
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.context import StepContext
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.workspace.disk_space import check_disk_space
from vocadapt.lab.workspace.manifest import Manifest, find_versions
from vocadapt.lab.workspace.workspace import Artifact, list_kinds, open_artifact, open_draft
from vocadapt.progress import Progress, silent

SCRATCH = ".scratch"  # folder in the draft for temporary files


def run_step(
    spec: Spec,
    folder: Path,
    progress: Progress = silent,
    overwrite: bool = False,
    job: Path | None = None,
    keep: Path | None = None,
) -> Artifact:
    """Run one step and write its artifact to `folder`, completely or not at all.

    `job`: folder of the job that runs the step; it holds the step's checkpoints, and the manifest
    names the job. `keep`: folder for checkpoints without a job; the same step resumes from it, and
    removes it when done. Raises InputError for mistakes in the spec, if `folder` exists, and if the
    disk is full.
    """
    start = time.perf_counter()
    folder = Path(folder)
    _check_output_outside_inputs(spec, folder)
    check_disk_space(folder, spec.estimate_bytes())
    with open_draft(folder, overwrite) as draft:
        root = None
        if folder.absolute().parent.name in list_kinds():
            root = folder.absolute().parent.parent
        # Before the step: what changes meanwhile makes its result stale.
        inputs = StepContext(spec, draft, root, progress).inputs()
        checkpoint = None
        if job:
            checkpoint = prepare_job_checkpoint(job, inputs)
        elif keep:
            checkpoint = prepare_own_checkpoint(keep, spec, inputs)
        context = StepContext(spec, draft, root, progress, checkpoint)
        with use_scratch(draft / SCRATCH):
            numbers = spec.declaration.run(context, spec.settings)
        Manifest(
            kind=spec.kind,
            step=spec.step,
            name=folder.name,
            settings=asdict(spec.settings),
            inputs=inputs,
            numbers=numbers,
            versions=find_versions(spec.declaration.libraries),
            seed=spec.seed,
            seconds=time.perf_counter() - start,
            command=build_command(spec, folder),
            job=job.name if job else "",
            casing=spec.casing,
        ).save(draft)
    if keep is not None and not job:
        shutil.rmtree(keep, ignore_errors=True)
    return open_artifact(folder)


def _check_output_outside_inputs(spec: Spec, folder: Path) -> None:
    """Raise InputError if the output would replace one of the inputs, or a folder that contains it."""
    check_output_path(folder)
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
            )
