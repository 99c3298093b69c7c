"""Uploads: files from the browser, stored in `<workspace>/uploads` until an artifact copies them.

Corpora and imported vectors are copies, so their upload is removed when the job is done. Uploads
that are never used are removed after a day, or before on the page Workspace.
"""

import re
import time
from contextlib import suppress
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.jobs.job import find_write_time
from vocadapt.lab.jobs.queue import list_living_jobs
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.manifest import ARTIFACTS, read_manifest
from vocadapt.lab.workspace.workspace import UPLOADS, Workspace

MAX_UNUSED_SECONDS = 24 * 3600.0


def is_upload(path: str | Path, workspace: Workspace) -> bool:
    """Return whether a file is an upload of a workspace."""
    return Path(path).absolute().parent == workspace.root / UPLOADS


def hide_upload_paths(message: str, workspace: Workspace) -> str:
    """Replace the paths of uploads in a message by file names: users do not know the paths."""
    # Uploads of the same name are in subfolders.
    return re.sub(rf"{re.escape(str(workspace.root / UPLOADS))}/(?:\w+/)?", "", message)


def remove_copied_uploads(spec: Spec, workspace: Workspace) -> None:
    """Remove the uploads that the artifact of a finished step contains as copies."""
    if spec.declaration.keeps_inputs(spec.settings):
        for path in (Path(path) for paths in spec.inputs.values() for path in paths):
            if is_upload(path, workspace):
                path.unlink(missing_ok=True)


def list_unused_uploads(workspace: Workspace) -> list[Path]:
    """List the uploads that are no input of a living job or an artifact, newest first."""
    # 1. Collect the inputs of waiting and running jobs and of artifacts.
    living = list_living_jobs(workspace)
    used = {Path(path) for job in living for paths in job.spec.inputs.values() for path in paths}
    made = [artifact.manifest for kind in ARTIFACTS for artifact in workspace.artifacts(kind)]
    for name in workspace.list_hidden():  # damaged, but their uploads are used
        with suppress(InputError, OSError):
            made.append(read_manifest(workspace.root / name))
    used |= {
        workspace.root / path
        for manifest in made
        for given in manifest.inputs.values()
        for path in given.paths
    }

    # 2. The others, without those that are being written.
    files = (workspace.root / UPLOADS).glob("[!.]*")
    unused = [file for file in files if file.is_file() and file not in used]
    return sorted(unused, key=find_write_time, reverse=True)


def remove_unused_uploads(workspace: Workspace) -> None:
    """Remove unused uploads that are older than a day."""
    for file in list_unused_uploads(workspace):
        if time.time() - find_write_time(file) > MAX_UNUSED_SECONDS:
            file.unlink(missing_ok=True)
