"""The trash of a workspace: deleted artifacts and jobs, which can be restored until it is emptied.

An entry is the folder `<workspace>/trash/<id>/<kind>/<name>/`, with the note on the item in
`<workspace>/trash/<id>/note.json`; the id begins with the time of deletion.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from vocadapt.errors import InputError
from vocadapt.lab.housekeeping.renames import (
    check_exists,
    check_unused,
    record_name,
    update_references,
    update_target,
)
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.disk_space import measure_files
from vocadapt.lab.workspace.drafts import convert_write_errors
from vocadapt.lab.workspace.locks import wait_for_lock
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.notes import Note, load_notes, replace_note
from vocadapt.lab.workspace.workspace import Artifact, Workspace, list_kinds

TRASH, NOTE = "trash", "note.json"
TIME = "%Y%m%d-%H%M%S-%f"


@dataclass(frozen=True)
class Deleted:
    """A deleted artifact or job: its id in the trash, kind, name, time of deletion and bytes."""

    id: str
    kind: str
    name: str
    deleted: str
    size: int

    def find_folder(self, workspace: Workspace) -> Path:
        """Return its folder in the trash."""
        return workspace.root / TRASH / self.id / self.kind / self.name


def delete_artifact(workspace: Workspace, artifact: Artifact) -> Deleted:
    """Move an artifact to the trash, with its note; raise InputError if a job is using it."""
    # No job is started while the lock is held.
    with _lock_workspace(workspace):
        check_exists(artifact)
        check_unused(workspace, artifact)
        record_name(workspace, artifact)  # so that a link never opens a later artifact of this name
        deleted = _discard(workspace, artifact.kind, artifact.folder)
    _discard_note(workspace, deleted)
    return deleted


def delete_job(workspace: Workspace, job: Job) -> Deleted:
    """Move a job to the trash, with its note, but not what it made; raise InputError if it has not
    ended.
    """
    with _lock_workspace(workspace):  # no job is resumed while the lock is held
        check_exists(job)
        if job.status().alive:
            raise InputError(f"The job {job.id} has not ended.", "Cancel it first.")
        deleted = _discard(workspace, "jobs", job.folder)
    _discard_note(workspace, deleted)
    return deleted


def list_trash(workspace: Workspace) -> list[Deleted]:
    """List the trash, latest deletion first; folders that vocadapt did not write are left out."""
    found = []
    for folder in sorted((workspace.root / TRASH).glob("*/*/*/"), reverse=True):
        kind, entry = folder.parent.name, folder.parents[1].name
        with suppress(ValueError):
            when = datetime.strptime(entry.rpartition("-")[0], TIME).replace(tzinfo=UTC)
            if kind in list_kinds():
                deleted = when.isoformat(timespec="seconds")
                found.append(
                    Deleted(entry, kind, folder.name, deleted, measure_files([str(folder)]))
                )
    return found


def find_deleted(workspace: Workspace, entry: str) -> Deleted:
    """Return the entry of the trash with this id; raise InputError if there is none."""
    for one in list_trash(workspace):
        if one.id == entry:
            return one
    raise InputError(
        f"There is no {entry[:100]!r} in the trash.", "It may have been restored or emptied."
    )


def restore(workspace: Workspace, entry: Deleted, name: str = "") -> Path:
    """Move an entry back from the trash, under another name if one is given; return its folder.

    Raises InputError if the name is taken.
    """
    target = workspace.folder(entry.kind, name or entry.name)
    place = workspace.root / TRASH / entry.id
    with _lock_workspace(workspace):
        if target.exists():
            raise InputError(
                f"{entry.kind}/{target.name} exists already.",
                "Rename that one first, or restore under another name.",
            )
        source = find_deleted(workspace, entry.id).find_folder(workspace)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.rename(source, target)
        update_references(workspace)  # names may have changed since the deletion
        _update_job(workspace, entry, target)
    if (place / NOTE).is_file():
        note = strict_json.read(place / NOTE)
        kept = Note(note["text"], tuple(note["tags"]), name=note.get("name", ""))
        replace_note(workspace, f"{entry.kind}/{target.name}", kept)
    shutil.rmtree(place, ignore_errors=True)
    return target


def _update_job(workspace: Workspace, entry: Deleted, target: Path) -> None:
    """Let the job that made a restored artifact lead to it, also under another name."""
    old = workspace.folder(entry.kind, entry.name)
    if target == old or entry.kind not in ARTIFACTS:
        return
    for artifact in workspace.artifacts(entry.kind):
        if artifact.folder == target:
            update_target(workspace, replace(artifact, folder=old), target)


def empty_trash(workspace: Workspace) -> int:
    """Delete everything in the trash for good; return the number of bytes that were freed."""
    entries = list_trash(workspace)
    with convert_write_errors(workspace.root):
        for entry in entries:
            shutil.rmtree(workspace.root / TRASH / entry.id)
    return sum(entry.size for entry in entries)


def _discard(workspace: Workspace, kind: str, folder: Path) -> Deleted:
    """Move a folder to the trash; the caller holds the lock of the workspace."""
    size = measure_files([str(folder)])
    now = datetime.now(UTC)
    entry = f"{now.strftime(TIME)}-{uuid4().hex[:6]}"
    place = workspace.root / TRASH / entry / kind
    place.mkdir(parents=True)
    try:
        os.rename(folder, place / folder.name)
    except OSError:
        shutil.rmtree(place.parent, ignore_errors=True)
        raise
    return Deleted(entry, kind, folder.name, now.isoformat(timespec="seconds"), size)


def _discard_note(workspace: Workspace, deleted: Deleted) -> None:
    """Move the note on a deleted item to its place in the trash."""
    item = f"{deleted.kind}/{deleted.name}"
    note = load_notes(workspace).get(item)
    if note:
        kept = {"text": note.text, "tags": list(note.tags), "name": note.name}
        strict_json.write(workspace.root / TRASH / deleted.id / NOTE, kept)
        replace_note(workspace, item, Note(""))


@contextmanager
def _lock_workspace(workspace: Workspace) -> Iterator[None]:
    """Hold the lock of a workspace; raise InputError for what cannot be written."""
    with convert_write_errors(workspace.root), wait_for_lock(workspace.root):
        yield
