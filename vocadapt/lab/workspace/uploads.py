"""Uploads: files from the browser, kept in `<workspace>/uploads` until an artifact has copied them.

A corpus keeps copies, an import keeps the vectors: the upload is removed when their job is done, so
that nothing is stored twice. Uploads that were never used are removed after a day.
"""

import re
import time
from pathlib import Path

from vocadapt.lab.jobs.queue import list_jobs
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.workspace import UPLOADS, Workspace

FORGOTTEN = 24 * 3600.0  # seconds


def is_upload(path: str | Path, workspace: Workspace) -> bool:
    """Whether a file is an upload of a workspace."""
    return Path(path).absolute().parent == workspace.root / UPLOADS


def hide_upload_paths(message: str, workspace: Workspace) -> str:
    """Return a message with uploads called by file name: users do not know their path in the
    workspace.
    """
    # An upload may lie in a subfolder of its own, so that equal names do not collide.
    return re.sub(rf"{re.escape(str(workspace.root / UPLOADS))}/(?:\w+/)?", "", message)


def remove_copied_uploads(spec: Spec, workspace: Workspace) -> None:
    """Remove the uploads that a finished step has taken in; every other file stays."""
    if spec.declaration.keeps_inputs(spec.settings):
        for path in (Path(path) for paths in spec.inputs.values() for path in paths):
            if is_upload(path, workspace):
                path.unlink(missing_ok=True)


def remove_unused_uploads(workspace: Workspace) -> None:
    """Remove uploads older than a day that no living job and no artifact names."""
    # 1. The files that living jobs and artifacts name.
    living = (job for job in list_jobs(workspace) if job.status().alive)
    wanted = {Path(path) for job in living for paths in job.spec.inputs.values() for path in paths}
    made = (artifact for kind in ARTIFACTS for artifact in workspace.artifacts(kind))
    wanted |= {
        workspace.root / path
        for artifact in made
        for given in artifact.manifest.inputs.values()
        for path in given.paths
    }

    # 2. All others that are older than a day.
    for file in (workspace.root / UPLOADS).glob("*"):
        if file not in wanted and file.is_file() and time.time() - file.stat().st_mtime > FORGOTTEN:
            file.unlink(missing_ok=True)
