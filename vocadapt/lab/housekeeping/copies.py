"""A workspace as a copy, and as one zip file that can be opened elsewhere.

Both hold the artifacts, notes and lessons, but no jobs, uploads or trash, which belong to a
machine.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import SEEK_END, FileIO
from pathlib import Path, PurePath, PurePosixPath
from typing import IO
from zipfile import ZipFile, ZipInfo

from vocadapt.errors import InputError
from vocadapt.lab.experiments.published.imports import FOLDER as PUBLISHED
from vocadapt.lab.workspace.drafts import (
    convert_write_errors,
    move_draft,
    open_file_draft,
    open_folder_draft,
)
from vocadapt.lab.workspace.manifest import ARTIFACTS, NewerFormatError
from vocadapt.lab.workspace.packing import pack_files, write_to_temporary_file
from vocadapt.lab.workspace.records import COUNTS, list_outside_paths
from vocadapt.lab.workspace.slices import FOLDER as SLICES
from vocadapt.lab.workspace.workspace import TRASH, UPLOADS, Workspace, list_kinds
from vocadapt.progress import Progress, silent
from vocadapt.report.formats import format_size
from vocadapt.system.files import check_output_path, expand_path, open_file, show_path
from vocadapt.system.zip_files import BLOCK, open_zip, read_member

FOLDERS = (COUNTS, SLICES, PUBLISHED)  # beside the folders of artifacts
MAX_FILES = 100_000  # files of an exported workspace
# Unpacked bytes per byte of a file: an export is not compressed, but may have been packed again.
MAX_EXPANSION = 20
NO_EXPORT = "This is not an exported workspace"
REMEDY = "Choose a file that vocadapt exported."


def is_part(path: PurePath) -> bool:
    """Return whether a file of a workspace, relative to it, belongs to its copies: what vocadapt
    keeps there, but no jobs, uploads and trash, no hidden files, and no folders of the user's own.
    """
    if not path.parts or any(part.startswith(".") for part in path.parts):
        return False
    return len(path.parts) == 1 or path.parts[0] in (*ARTIFACTS, *FOLDERS)


def list_files(workspace: Workspace) -> list[Path]:
    """List the files of a copy, relative to the workspace: see `is_part`."""
    inside = (path.relative_to(workspace.root) for path in sorted(workspace.root.rglob("*")))
    return [path for path in inside if is_part(path) and os.path.isfile(workspace.root / path)]


def list_own_folders(workspace: Workspace) -> list[str]:
    """List the folders of a workspace that vocadapt did not create, so that copies leave them out."""
    known = (*list_kinds(), *FOLDERS, UPLOADS, TRASH)
    names = sorted(name for name in os.listdir(workspace.root) if not name.startswith("."))
    return [name for name in names if name not in known and os.path.isdir(workspace.root / name)]


def copy_workspace(workspace: Workspace, target: Path, progress: Progress = silent) -> Workspace:
    """Copy a workspace to a folder that does not exist yet, or is empty.

    Raises InputError if the workspace is empty, if the folder is not, or if the disk is full.
    """
    _check_empty(target)
    with convert_write_errors(target), _report_change(workspace):
        files = _list_exported(workspace)
        sizes = [(workspace.root / file).stat().st_size for file in files]
        with _folder_draft(target, sum(sizes)) as draft:
            for number, file in enumerate(files):
                progress(number / len(files), f"{number:,} of {len(files):,} files")
                (draft / file).parent.mkdir(parents=True, exist_ok=True)
                with open_file(workspace.root / file) as source, open(draft / file, "xb") as place:
                    shutil.copyfileobj(source, place, BLOCK)
                shutil.copystat(workspace.root / file, draft / file)
    return Workspace(target)


def export_workspace(workspace: Workspace, target: Path) -> int:
    """Write a workspace to one zip file, and return the number of its files.

    Raises InputError if the workspace is empty, or if the file cannot be written.
    """
    with open_file_draft(target) as draft, open(draft, "wb") as file:
        return _pack(workspace, file)


@contextmanager
def _report_change(workspace: Workspace) -> Iterator[None]:
    """Raise InputError if a file of the workspace disappears while the block reads it."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(
            f"{workspace.root} changed while it was copied: {show_path(error.filename)} is gone.",
            "Copy it again.",
        ) from error


def _list_exported(workspace: Workspace) -> list[Path]:
    """List the files of a copy; raise InputError if there are none, or if one of them names a path
    with which a copy could not be opened.
    """
    files = list_files(workspace)
    if not files:
        raise InputError(
            f"{workspace.root} holds no artifact.",
            "Choose another workspace.",
            code="empty-workspace",
        )
    with suppress(NewerFormatError):  # the version that opens it may be newer, too
        list_outside_paths(workspace.root, files)
    return files


def export_to_temporary_file(workspace: Workspace) -> FileIO:
    """Write a workspace to a temporary zip file, which is removed when it is closed."""
    return write_to_temporary_file(
        lambda file: _pack(workspace, file), workspace.root.name, workspace.root
    )


def _pack(workspace: Workspace, place: IO[bytes]) -> int:
    """Write the files of a workspace into a zip file, and return their number."""
    with _report_change(workspace):
        files = _list_exported(workspace)
        pack_files(((workspace.root / file, file.as_posix()) for file in files), place)
    return len(files)


def open_export(
    source: Path | IO[bytes], target: Path, check_allowed: Callable[[Path], None] | None = None
) -> Workspace:
    """Unpack an exported workspace to a folder that does not exist yet, or is empty.

    The file comes from elsewhere: names that lead out of the folder, links, unknown folders, files
    that are larger than they claim, and more than MAX_EXPANSION bytes per packed byte are refused.
    Raises InputError, and leaves nothing behind.

    check_allowed: raises InputError for a path outside of the workspace that its artifacts must not
    read, such as a text that was imported by its path.
    """
    # 1. Open the file, and check its list of members.
    _check_empty(target)
    with open_zip(source, NO_EXPORT, REMEDY) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        _check_members(members)
        size = sum(member.file_size for member in members)
        _check_expansion(source, size)
        # 2. Unpack into a draft, which replaces the target when it is complete.
        with (
            convert_write_errors(target),
            _folder_draft(target, size) as draft,
            _name_members(draft),
        ):
            for member in members:
                _unpack(archive, member, draft)
            files = [Path(member.filename) for member in members]
            for path in list_outside_paths(draft, files):
                if check_allowed:
                    check_allowed(path)
    return Workspace(target)


def _check_members(members: list[ZipInfo]) -> None:
    """Raise InputError if a member does not belong to an exported workspace."""
    if not 0 < len(members) <= MAX_FILES:
        raise InputError(
            f"The file has {len(members):,} members; a workspace has 1 to {MAX_FILES:,} files.",
            REMEDY,
        )
    for member in members:
        path = PurePosixPath(member.filename)
        is_link = (member.external_attr >> 16) & 0o170000 == 0o120000
        if path.is_absolute() or is_link or not is_part(path) or "\\" in member.filename:
            raise InputError(
                f"{member.filename[:200]!r} does not belong to an exported workspace.",
                REMEDY,
                code="foreign-member",
            )


def _check_expansion(source: Path | IO[bytes], unpacked: int) -> None:
    """Raise InputError if a file claims to unpack to more than MAX_EXPANSION times its size."""
    if isinstance(source, Path):
        packed = expand_path(source).stat().st_size
    else:
        packed = source.seek(0, SEEK_END)
    if unpacked > MAX_EXPANSION * packed:
        raise InputError(
            f"{NO_EXPORT}: its {format_size(packed)} would unpack to {format_size(unpacked)}, more"
            f" than {MAX_EXPANSION} times as much.",
            REMEDY,
            code="expands-too-much",
        )


def _unpack(archive: ZipFile, member: ZipInfo, folder: Path) -> None:
    """Unpack a member block by block."""
    target = folder / member.filename
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "xb") as place:
        for block in read_member(archive, member, NO_EXPORT, REMEDY):
            place.write(block)


def _check_empty(target: Path) -> None:
    check_output_path(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} exists already.", "Choose another name.", code="already-exists")


@contextmanager
def _folder_draft(target: Path, size: int) -> Iterator[Path]:
    """Yield a new folder for `size` bytes beside the target, which becomes the target when the
    block ends, and is removed if the block raises; if this process is killed, the next copy removes
    it.
    """
    target = Path(os.path.abspath(target))
    with open_folder_draft(target, size) as draft:
        yield draft
        move_draft(draft, target)


@contextmanager
def _name_members(draft: Path) -> Iterator[None]:
    """Convert errors so that they name a file as a member: the draft is gone when they are read."""
    try:
        yield
    except InputError as error:
        raise InputError(
            error.problem.replace(f"{draft}/", ""), error.remedy, code=error.code
        ) from error
