"""Checkpoint folders: what a stopped step resumes from, as long as its inputs are unchanged."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.manifest import Input

CHECKPOINT = "checkpoint"  # <job>/checkpoint/
MADE_FROM = "made_from.json"  # in it: the stamps of the inputs that the checkpoint was made from


def prepare_job_checkpoint(job: Path, inputs: Mapping[str, Input]) -> Path:
    """Return the checkpoint folder of a job, emptied if its checkpoint was made from other inputs."""
    folder = job / CHECKPOINT
    stamps = {role: given.stamp for role, given in inputs.items()}
    try:
        made_from = strict_json.read(folder / MADE_FROM)
    except InputError:
        made_from = None
    if made_from != stamps:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        strict_json.write(folder / MADE_FROM, stamps)
    return folder


def prepare_own_checkpoint(folder: Path, spec: Spec, inputs: Mapping[str, Input]) -> Path:
    """Return the folder of a step's own checkpoints.

    Raises InputError if it holds anything else, such as those of another step.
    """
    about = {
        "spec": spec.to_json(),
        "inputs": {role: given.stamp for role, given in inputs.items()},
    }
    if folder.is_dir() and any(folder.iterdir()):
        try:
            same = strict_json.read(folder / MADE_FROM) == about
        except InputError:
            same = False
        if not same:
            raise InputError(
                f"{folder} does not hold the checkpoints of this command, with these settings and"
                " these inputs.",
                "Run the command that was stopped, or give another folder.",
            )
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        strict_json.write(folder / MADE_FROM, about)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot write there: {error.strerror}.", "Choose another folder."
        ) from error
    return folder
