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
    RENAMING,
    check_exists,
    check_unused,
    finish_move,
    finish_renaming,
    move_folder,
    record_name,
    update_references,
    update_target,
)
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.disk_space import measure_files
from vocadapt.lab.workspace.drafts import DRAFT, convert_write_errors
from vocadapt.lab.workspace.locks import hold_lock, wait_for_lock
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.notes import Note, load_notes, replace_note
from vocadapt.lab.workspace.workspace import TRASH, Artifact, Workspace, list_kinds, open_artifact
from vocadapt.report.table import Column

NOTE = "note.json"
DELETING, RESTORING = "deleting", "restoring"  # records of moves that are not finished
TIME = "%Y%m%d-%H%M%S-%f"
COLUMNS = (
    Column("id", "Id"),
    Column("item", "Item"),
    Column("deleted", "Deleted", "Time of deletion (UTC).", "time"),
    Column("bytes", "Size", "Size on the disk.", "size"),
)


@dataclass(frozen=True)
class Deleted:
    """A deleted artifact or job: id in the trash, kind, name, time of deletion (ISO 8601), size."""

    id: str
    kind: str
    name: str
    deleted: str
    bytes: int

    @property
    def item(self) -> str:
        """Kind and name."""
        return f"{self.kind}/{self.name}"

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
        return _discard(workspace, artifact.kind, artifact.folder)


def delete_job(workspace: Workspace, job: Job) -> Deleted:
    """Move a job to the trash, without what it made; raise InputError if it has not ended."""
    with _lock_workspace(workspace):  # no job is resumed while the lock is held
        check_exists(job)
        if job.status().alive:
            raise InputError(
                f"The job {job.id} has not ended.", "Cancel it first.", code="job-alive"
            )
        return _discard(workspace, "jobs", job.folder)


def list_trash(workspace: Workspace) -> list[Deleted]:
    """List the trash, latest deletion first; folders that vocadapt did not write are left out."""
    found = []
    folders = list[Path]()
    for place in (workspace.root / TRASH).glob("[!.]*"):
        with suppress(FileNotFoundError):  # restored or removed just now
            folders += place.glob("*/*/")
    for folder in sorted(folders, reverse=True):
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
        f"There is no {entry[:100]!r} in the trash.",
        "It may have been restored or emptied.",
        code="not-in-trash",
    )


def restore(workspace: Workspace, entry: Deleted, name: str = "") -> Path:
    """Move an entry back from the trash, under another name if one is given; return its folder.

    Raises InputError if the name is taken.
    """
    target = workspace.folder(entry.kind, name or entry.name)
    with _lock_workspace(workspace):
        if target.exists():
            raise InputError(
                f"{entry.kind}/{target.name} exists already.",
                "Rename that one first, or restore under another name.",
                code="name-taken",
            )
        source = find_deleted(workspace, entry.id).find_folder(workspace)
        move_folder(workspace, RESTORING, source, target)
        finish_move(workspace, RESTORING, _finish_restoring)
    return target


def _finish_restoring(workspace: Workspace, source: Path, target: Path) -> None:
    """Update what refers to an item that was taken from the trash, and bring its note back."""
    kind = target.parent.name
    place = source.parents[1]
    update_references(workspace)  # names may have changed since the deletion
    former = workspace.folder(kind, source.name)
    if target != former and kind in ARTIFACTS:
        with suppress(InputError):  # a damaged artifact
            update_target(workspace, replace(open_artifact(target), folder=former), target)
    if (place / NOTE).is_file():
        note = strict_json.read(place / NOTE)
        kept = Note(note["text"], tuple(note["tags"]), name=note.get("name", ""))
        replace_note(workspace, f"{kind}/{target.name}", kept)
    if place.exists():
        _remove(place)


def empty_trash(workspace: Workspace) -> int:
    """Delete everything in the trash for good; return the number of bytes that were freed."""
    entries = list_trash(workspace)
    with convert_write_errors(workspace.root):
        for entry in entries:
            _remove(workspace.root / TRASH / entry.id)
    return sum(entry.bytes for entry in entries)


def _discard(workspace: Workspace, kind: str, folder: Path) -> Deleted:
    """Move a folder to the trash; the caller holds the lock of the workspace."""
    size = measure_files([str(folder)])
    now = datetime.now(UTC)
    entry = f"{now.strftime(TIME)}-{uuid4().hex[:6]}"
    move_folder(workspace, DELETING, folder, workspace.root / TRASH / entry / kind / folder.name)
    finish_move(workspace, DELETING, _finish_deleting)
    return Deleted(entry, kind, folder.name, now.isoformat(timespec="seconds"), size)


def _finish_deleting(workspace: Workspace, folder: Path, target: Path) -> None:
    """Move the note on a deleted item to its place in the trash."""
    item = f"{folder.parent.name}/{folder.name}"
    note = load_notes(workspace).get(item)
    if note:
        kept = {"text": note.text, "tags": list(note.tags), "name": note.name}
        strict_json.write(target.parents[1] / NOTE, kept)
        replace_note(workspace, item, Note(""))


def finish_moves(workspace: Workspace) -> None:
    """Finish the renamings, deletions and restorations of processes that were killed.

    Raises InputError if the workspace cannot be written.
    """
    if any((workspace.root / f".{action}.json").exists() for action in MOVES):
        with _lock_workspace(workspace):
            pass


@contextmanager
def _lock_workspace(workspace: Workspace) -> Iterator[None]:
    """Hold the lock of a workspace, after finishing what killed processes did not; raise InputError
    for what cannot be written.
    """
    with convert_write_errors(workspace.root), wait_for_lock(workspace.root):
        for action, finish in MOVES.items():
            finish_move(workspace, action, finish)
        yield


def _remove(entry: Path) -> None:
    """Delete an entry for good. It is first renamed as a draft, so that it is never listed, nor
    restored, in part: if the process is killed, it is later removed as abandoned.
    """
    abandoned = entry.with_name(f".{entry.name}.{uuid4().hex[:12]}{DRAFT}")
    os.replace(entry, abandoned)
    with suppress(BlockingIOError, FileNotFoundError), hold_lock(abandoned):
        shutil.rmtree(abandoned)


# Record of a move that is not finished -> what is left to do when the folder was moved.
MOVES = {RENAMING: finish_renaming, DELETING: _finish_deleting, RESTORING: _finish_restoring}
