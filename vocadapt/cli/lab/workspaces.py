"""workspace rename, note, delete, trash, restore, empty-trash, copy, export, open."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vocadapt.cli.command import Answer, Command, Options, option
from vocadapt.cli.workspace_options import OVERWRITE_FILE, WORKSPACE, output_option
from vocadapt.errors import InputError
from vocadapt.lab.housekeeping.copies import (
    copy_workspace,
    export_workspace,
    list_files,
    list_own_folders,
    open_export,
)
from vocadapt.lab.housekeeping.renames import find_id, list_dependents, rename
from vocadapt.lab.housekeeping.trash import (
    COLUMNS,
    Deleted,
    delete_artifact,
    delete_job,
    empty_trash,
    find_deleted,
    list_trash,
    restore,
)
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.workspace.drafts import check_free_file
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.notes import save_note
from vocadapt.lab.workspace.records import list_outside_paths
from vocadapt.lab.workspace.workspace import Artifact, Workspace, is_name
from vocadapt.report.formats import format_size
from vocadapt.report.table import Table
from vocadapt.report.terminal import write_terminal

KIND_OF_SINGULAR = {singular: kind for kind, singular in ARTIFACTS.items()}  # model: models


@dataclass(frozen=True)
class RenameAnswer:
    """An artifact or job, its new name, and the artifacts that were updated."""

    artifact: str
    name: str
    updated: tuple[str, ...]


@dataclass(frozen=True)
class NoteAnswer:
    """An item and its note ("" if it was removed)."""

    item: str
    note: str


@dataclass(frozen=True)
class DeleteAnswer:
    """The id in the trash, the size, and the artifacts that were made from it."""

    id: str
    bytes: int
    dependents: tuple[str, ...]


@dataclass(frozen=True)
class TrashAnswer:
    """The trash of a workspace."""

    trash: tuple[Deleted, ...]


@dataclass(frozen=True)
class RestoreAnswer:
    """The item that was taken back."""

    item: str


@dataclass(frozen=True)
class EmptyAnswer:
    """How much was deleted for good."""

    bytes: int
    items: int


@dataclass(frozen=True)
class CopyAnswer:
    """The folder of the new workspace, and the folders of the user's own that were left out."""

    workspace: Path
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class ExportAnswer:
    """The zip file, the number of files in it, and the folders of the user's own that were left
    out.
    """

    file: Path
    files: int
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class OpenAnswer:
    """The folder of the new workspace, and the paths outside of it that its artifacts name."""

    workspace: Path
    outside: tuple[Path, ...]


def _open(options: Options) -> Workspace:
    return Workspace(Path(options.workspace))


def _parse_item(workspace: Workspace, path: str) -> tuple[str, str]:
    """Return the kind and the name of an item; raise InputError if the kind is missing."""
    kind, _, name = path.strip("/").partition("/")
    if not name:
        found = [
            f"{kind}/{path}"
            for kind in ARTIFACTS
            if is_name(path) and workspace.folder(kind, path).exists()
        ]
        example = " or ".join(found) or "such as models/demo-bert"
        raise InputError(f"{path!r} has no kind.", f"Give kind and name: {example}.")
    return KIND_OF_SINGULAR.get(kind, kind), name


def _find(workspace: Workspace, path: str) -> Artifact | Job:
    kind, name = _parse_item(workspace, path)
    if kind == "jobs":
        return queue.find_job(workspace, name)
    return workspace.artifact(kind, name)


def _format_command(*arguments: object) -> str:
    return shlex.join(["python", "-m", "vocadapt", *map(str, arguments)])


def _rename(options: Options) -> Answer[RenameAnswer]:
    workspace = _open(options)
    item = _find(workspace, options.artifact)
    updated = _list_dependents(workspace, item)
    name = rename(workspace, item, options.name)
    # A job keeps its id: links and commands use it.
    id = find_id(item)
    shown = f"shown as {name}"
    if isinstance(item, Artifact):
        id = shown = f"{item.kind}/{name}"
    elif not name:
        shown = "shown by the name of its result"
    text = f"{find_id(item)} is now {shown}."
    if updated:
        text += f" Made from it, and updated: {', '.join(updated)}."
    return Answer(RenameAnswer(id, name, updated), text)


def _note(options: Options) -> Answer[NoteAnswer]:
    workspace = _open(options)
    id = find_id(_find(workspace, options.artifact))
    save_note(workspace, id, options.text)
    note = options.text.strip()
    text = "The note is removed."
    if note:
        text = f"Noted on {id}."
    return Answer(NoteAnswer(id, note), text)


def _delete(options: Options) -> Answer[DeleteAnswer]:
    workspace = _open(options)
    item = _find(workspace, options.artifact)
    id = find_id(item)
    dependents = _list_dependents(workspace, item)
    # What depends on the artifact is named before anything is deleted.
    if dependents and not options.yes:
        raise InputError(
            f"Made from {id}: {', '.join(dependents)}. Without it they are out of"
            " date, and some cannot be opened any more.",
            "Add --yes to delete it all the same.",
        )
    if isinstance(item, Job):
        deleted = delete_job(workspace, item)
    else:
        deleted = delete_artifact(workspace, item)
    command = _format_command("workspace", "restore", deleted.id, "--workspace", workspace.root)
    size = format_size(deleted.bytes)
    text = f"{id} is in the trash as {deleted.id} ({size}). Take it back: {command}"
    return Answer(DeleteAnswer(deleted.id, deleted.bytes, dependents), text)


def _list_dependents(workspace: Workspace, item: Artifact | Job) -> tuple[str, ...]:
    """Return the ids of the artifacts that were made from an artifact; () for a job."""
    if isinstance(item, Job):
        return ()
    return tuple(map(find_id, list_dependents(workspace, item)))


def _trash(options: Options) -> Answer[TrashAnswer]:
    entries = tuple(list_trash(_open(options)))
    text = "The trash is empty."
    if entries:
        text = write_terminal(Table("", COLUMNS, entries))
    return Answer(TrashAnswer(entries), text)


def _restore(options: Options) -> Answer[RestoreAnswer]:
    workspace = _open(options)
    folder = restore(workspace, find_deleted(workspace, options.id), options.name or "")
    item = f"{folder.parent.name}/{folder.name}"
    return Answer(RestoreAnswer(item), f"{item} is back.")


def _empty(options: Options) -> Answer[EmptyAnswer]:
    workspace = _open(options)
    count = len(list_trash(workspace))
    freed = empty_trash(workspace)
    text = "The trash was already empty."
    if count:
        items = f"{count} item{'s' * (count > 1)}"
        text = f"Permanently deleted {items} from the trash ({format_size(freed)})."
    return Answer(EmptyAnswer(freed, count), text)


def _copy(options: Options) -> Answer[CopyAnswer]:
    workspace = _open(options)
    copy = copy_workspace(workspace, Path(options.out), options.progress)
    command = _format_command("app", "--workspace", copy.root)
    own = tuple(list_own_folders(workspace))
    text = f"Copied to {copy.root}, without {_describe_left_out(own)}. Open it: {command}"
    return Answer(CopyAnswer(copy.root, own), text)


def _export(options: Options) -> Answer[ExportAnswer]:
    target = Path(options.out)
    workspace = _open(options)
    check_free_file(target, options.overwrite)
    files = export_workspace(workspace, target)
    size = format_size(target.stat().st_size)
    command = _format_command("workspace", "open", target, "--out", "DIR")
    own = tuple(list_own_folders(workspace))
    text = (
        f"{files:,} files written to {target} ({size}), without {_describe_left_out(own)}."
        f" Open it elsewhere: {command}"
    )
    return Answer(ExportAnswer(target, files, own), text)


def _describe_left_out(own: Sequence[str]) -> str:
    """Describe what a copy leaves out. own: folders of the user's own."""
    if not own:
        return "jobs, uploads and trash"
    return f"jobs, uploads, trash, and what vocadapt did not write: {', '.join(own)}"


def _unpack(options: Options) -> Answer[OpenAnswer]:
    opened = open_export(Path(options.file), Path(options.out))
    command = _format_command("app", "--workspace", opened.root)
    text = f"Unpacked to {opened.root}. Open it: {command}"
    outside = tuple(list_outside_paths(opened.root, list_files(opened)))
    if outside:
        listed = "\n".join(map(str, outside))
        paths = f"{len(outside):,} path{'s' * (len(outside) != 1)}"
        text += f"\nIts artifacts name {paths} outside of it:\n{listed}"
    return Answer(OpenAnswer(opened.root, outside), text)


ITEM = option(
    "artifact", metavar="KIND/NAME", help="an artifact, such as models/demo-bert, or a job: jobs/ID"
)
RENAME = Command(
    _rename,
    (
        ITEM,
        option("name", metavar="NAME", help='its new name ("" for a job: that of its result)'),
        WORKSPACE,
    ),
)
NOTE = Command(
    _note,
    (ITEM, option("text", metavar="TEXT", help="the note; an empty one is removed"), WORKSPACE),
)
DELETE = Command(
    _delete,
    (
        ITEM,
        option("--yes", action="store_true", help="delete it although others were made from it"),
        WORKSPACE,
    ),
)
TRASH = Command(_trash, (WORKSPACE,))
RESTORE = Command(
    _restore,
    (
        option("id", metavar="ID", help="id in the trash, as listed by workspace trash"),
        option("--name", metavar="NAME", help="another name (default: its old name)"),
        WORKSPACE,
    ),
)
EMPTY_TRASH = Command(_empty, (WORKSPACE,))
COPY = Command(
    _copy, (output_option("--out", metavar="DIR", required=True, help="new workspace"), WORKSPACE)
)
EXPORT = Command(
    _export,
    (
        output_option("--out", metavar="FILE", required=True, help="zip file to write"),
        OVERWRITE_FILE,
        WORKSPACE,
    ),
)
OPEN = Command(
    _unpack,
    (
        option("file", metavar="FILE", help="zip file written by workspace export"),
        output_option("--out", metavar="DIR", required=True, help="new workspace"),
    ),
)
