"""Atomic writing: files and folders are written under a temporary name next to their target and
renamed when complete.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from vocadapt.errors import InputError
from vocadapt.files import check_output_path, show_path
from vocadapt.lab.workspace.locks import alone, hold, take
from vocadapt.lab.workspace.manifest import ARTIFACTS, MANIFEST, Manifest

DRAFT = ".draft"  # .<name>.<random>.draft: being written, or left by a killed writer
OLD = ".old"  # .<name>.<random>.old: being replaced
LEFT = re.compile(
    r"\.(.+)\.[0-9a-f]{12}\.(?:draft|old)", re.DOTALL
)  # group 1: the name of the artifact
WRITE_REMEDY = "Make room or change its permissions, or choose another workspace."
FULL = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def open_draft(folder: Path, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty folder to fill; it becomes `folder` when the block ends, and is removed if it
    raises.

    The block writes the manifest last. Raises InputError if `folder` exists (unless `overwrite`),
    cannot be made, or the disk is full.
    """
    folder = Path(os.path.abspath(folder))
    check_free(folder, overwrite)
    missing = [parent for parent in folder.parents if not parent.exists()]
    draft = None
    try:
        draft, lock = _make(folder)
        try:
            yield draft
            if not (draft / MANIFEST).is_file():
                raise AssertionError(f"the block that writes {folder} left no {MANIFEST}")
            _put_in_place(draft, folder, overwrite)
        finally:
            os.close(lock)
    except BaseException as error:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)
        _remove_empty(missing)
        if is_disk_full(error):
            raise InputError(
                f"The disk is full: {folder} was not written.",
                "Make room, or choose another place.",
            ) from error
        raise


def check_free(folder: Path, overwrite: bool = False) -> None:
    """Raise InputError if `folder` exists; an empty folder is free, and an artifact may be
    overwritten.
    """
    check_output_path(folder)
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is a file, not a folder.", "Choose another place.")
    if not any(folder.iterdir()):
        return
    if not overwrite:
        raise InputError(
            f"{folder} already exists.",
            "Choose another path, or overwrite it.",
        )
    if not _is_ours(folder):
        raise InputError(
            f"{folder} is not something vocadapt wrote, so it is not overwritten.",
            "Choose another place.",
        )
    if foreign := Manifest.load(folder).list_foreign_files(folder):
        raise InputError(
            f"{folder} also holds {foreign[0]}, which vocadapt did not write there, so it is not"
            " overwritten.",
            "Move it away, or choose another place.",
        )


@contextmanager
def open_file_draft(path: Path) -> Iterator[Path]:
    """Yield a file to fill; it replaces `path` when the block ends, and is removed if it raises.

    Raises InputError if it cannot be written, or the disk is full. `check_free_file` checks that
    beforehand.
    """
    place = Path(os.path.realpath(path))  # a link stays one
    draft = place.with_name(f".{uuid4().hex[:12]}{place.suffix.lower()}")
    try:
        yield draft
        os.replace(draft, place)
    except OSError as error:
        problem = f"cannot be written: {error.strerror}"
        if is_disk_full(error):
            problem = "the disk is full"
        raise InputError(f"{path}: {problem}.", "Choose another place.") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def check_free_file(path: Path, overwrite: bool = False) -> None:
    """Raise InputError, before any long work, if a file cannot be written; `overwrite` allows
    existing files.
    """
    check_output_path(path)
    if not path.parent.is_dir():
        raise InputError(
            f"{path}: there is no folder {path.parent}.", "Make it, or choose another place."
        )
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a file.", "Choose another place.")
    if path.exists() and not overwrite:
        raise InputError(f"{path} already exists.", "Choose another path, or overwrite it.")


@contextmanager
def convert_write_errors(place: Path) -> Iterator[None]:
    """Convert an OSError of the `with` block into an InputError that names the place."""
    try:
        yield
    except OSError as error:
        problem = (
            "the disk is full"
            if is_disk_full(error)
            else f"cannot write there: {error.strerror or error}"
        )
        raise InputError(f"{show_path(place)}: {problem}.", WRITE_REMEDY) from error


def remove_abandoned_drafts(parent: Path) -> None:
    """Remove what killed writers left in a folder; an artifact that was being replaced is restored."""
    if not parent.is_dir():
        return
    for draft, _ in _left(parent, DRAFT):
        with (
            suppress(BlockingIOError, FileNotFoundError),
            hold(draft),
        ):  # its writer lives, or another sweeper was quicker
            shutil.rmtree(draft, ignore_errors=True)
    with alone(parent):
        for old, place in _left(parent, OLD):
            if not _is_ours(old):
                continue
            if not os.path.lexists(place):
                os.replace(old, place)
            else:
                _discard(old)


def _left(parent: Path, ending: str) -> list[tuple[Path, Path]]:
    """The folders of our own naming in a folder, each with the place it was meant for."""
    folders = [
        path for path in parent.glob(f".*{ending}") if path.is_dir() and not path.is_symlink()
    ]
    return [(path, parent / match[1]) for path in folders if (match := LEFT.fullmatch(path.name))]


def _is_ours(folder: Path) -> bool:
    """Whether a folder is an artifact: its manifest is valid and of a known kind."""
    try:
        return Manifest.load(folder).kind in tuple(ARTIFACTS)
    except (InputError, OSError):
        return False


def is_disk_full(error: BaseException) -> bool:
    """Whether an error means that the disk is full; Rust libraries say so only in their message."""
    return getattr(error, "errno", None) in FULL or "No space left on device" in str(error)


def _make(folder: Path) -> tuple[Path, int]:
    """Remove leftovers next to `folder`, then make and lock a temporary folder there."""
    with suppress(OSError):  # what cannot be removed is somebody else's
        remove_abandoned_drafts(folder.parent)
    lock = None
    while lock is None:  # None: swept before it could be locked
        draft = folder.parent / f".{folder.name}.{uuid4().hex[:12]}{DRAFT}"
        try:
            draft.mkdir(parents=True)
            lock = _lock(draft)
        except OSError as error:
            if error.errno in FULL:
                raise
            raise InputError(
                f"{draft.parent}: cannot write there: {error.strerror}.", "Choose another place."
            ) from error
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    return draft, lock


def _lock(draft: Path) -> int | None:
    """Return the lock of a new folder; None if a sweeper removed it first."""
    with suppress(FileNotFoundError):
        lock = take(draft)
        if lock is not None:
            if draft.is_dir():
                return lock
            os.close(lock)
    return None


def _put_in_place(draft: Path, folder: Path, overwrite: bool) -> None:
    """Rename the complete draft to its target, moving what is there out of the way first."""
    _open_to_readers(draft)
    with alone(folder.parent):
        check_free(folder, overwrite)  # another writer may have been quicker
        if not (folder.is_dir() and any(folder.iterdir())):
            os.replace(draft, folder)
            return
        old = draft.with_name(draft.name.removesuffix(DRAFT) + OLD)
        os.replace(folder, old)
        os.replace(draft, folder)
    _discard(old)


def _discard(old: Path) -> None:
    """Remove what was replaced, renamed as a draft: if the process is killed, it is swept later."""
    with suppress(FileNotFoundError):  # another sweeper was quicker
        rubbish = old.with_name(old.name.removesuffix(OLD) + DRAFT)
        os.replace(old, rubbish)
        shutil.rmtree(rubbish, ignore_errors=True)


def _open_to_readers(draft: Path) -> None:
    """Give every file the mode of the manifest: some libraries write files that only their owner
    may read.
    """
    mode = (draft / MANIFEST).stat().st_mode & 0o777
    for path in draft.rglob("*"):
        if path.is_file():
            path.chmod(mode)


def _remove_empty(folders: list[Path]) -> None:
    """Remove the folders that were made on the way, as far as they are empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()
