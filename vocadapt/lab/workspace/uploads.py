"""Uploads: what came through the browser waits in `<workspace>/uploads` until an artifact has taken
it in.

A corpus keeps copies of its uploads, an import keeps the vectors: when their job is done the upload
is removed, so nothing lies there twice. What was never taken in is removed after a day.
"""

import re
import time
from pathlib import Path

from vocadapt.lab.jobs.queue import list_jobs
from vocadapt.lab.steps.spec import CorpusStep, ImportStep, Spec
from vocadapt.lab.workspace.workspace import ARTIFACTS, UPLOADS, Workspace

FORGOTTEN = 24 * 3600.0  # seconds


def is_upload(path: str | Path, workspace: Workspace) -> bool:
    """Whether a file lies among the uploads of a workspace."""
    return Path(path).absolute().parent == workspace.root / UPLOADS


def as_uploaded(message: str, workspace: Workspace) -> str:
    """A message with uploads called by their names alone: who brought one never saw its place in
    the workspace.
    """
    return re.sub(rf"{re.escape(str(workspace.root / UPLOADS))}/(?:\w+/)?", "", message)


def takes_in(spec: Spec) -> bool:
    """Whether the artifact of a step holds all that it was made from."""
    return isinstance(spec.settings, ImportStep) or (
        isinstance(spec.settings, CorpusStep) and spec.settings.copy
    )


def remove_taken_in(spec: Spec, workspace: Workspace) -> None:
    """Remove the uploads that a finished step has taken in; every other file stays."""
    if takes_in(spec):
        for path in (Path(path) for paths in spec.inputs.values() for path in paths):
            if is_upload(path, workspace):
                path.unlink(missing_ok=True)


def remove_forgotten(workspace: Workspace) -> None:
    """Remove uploads older than a day that no living job and no artifact names."""
    wanted = _named_by_jobs(workspace) | _named_by_artifacts(workspace)
    for file in (workspace.root / UPLOADS).glob("*"):
        if file not in wanted and file.is_file() and time.time() - file.stat().st_mtime > FORGOTTEN:
            file.unlink(missing_ok=True)


def _named_by_jobs(workspace: Workspace) -> set[Path]:
    living = (job for job in list_jobs(workspace) if job.status().alive)
    return {Path(path) for job in living for paths in job.spec.inputs.values() for path in paths}


def _named_by_artifacts(workspace: Workspace) -> set[Path]:
    made = (artifact for kind in ARTIFACTS for artifact in workspace.artifacts(kind))
    return {
        workspace.root / path
        for artifact in made
        for given in artifact.manifest.inputs.values()
        for path in given.paths
    }
