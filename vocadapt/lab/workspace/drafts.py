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
from vocadapt.lab.workspace.locks import acquire_lock, hold_lock, wait_for_lock
from vocadapt.lab.workspace.manifest import ARTIFACTS, MANIFEST, Manifest

DRAFT = ".draft"  # .<name>.<random>.draft: being written, or left by a killed writer
OLD = ".old"  # .<name>.<random>.old: being replaced
# Names of drafts and replaced folders; group 1: the name of the artifact.
LEFT = re.compile(r"\.(.+)\.[0-9a-f]{12}\.(?:draft|old)", re.DOTALL)
WRITE_REMEDY = "Make room or change its permissions, or choose another workspace."
FULL = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def open_draft(folder: Path, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty folder to fill; it becomes `folder` when the block ends, and is removed if it
    raises.

    The block writes the manifest last. Raises InputError if `folder` exists (unless `overwrite`),
    cannot be made, or the disk is full.
    """
    # 1. Check the target, and remember which parents have to be made for it.
    folder = Path(os.path.abspath(folder))
    check_free(folder, overwrite)
    missing = [parent for parent in folder.parents if not parent.exists()]
    draft = None
    try:
        # 2. Let the block fill a draft. Its lock tells others that the writer lives.
        draft, lock = _make(folder)
        try:
            yield draft
            if not (draft / MANIFEST).is_file():
                raise AssertionError(f"the block that writes {folder} left no {MANIFEST}")
            _put_in_place(draft, folder, overwrite)
        finally:
            os.close(lock)
    except BaseException as error:
        # 3. If anything fails, leave nothing behind.
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)
        with suppress(OSError):  # parents that were made for it, as far as they are empty
            for parent in missing:
                parent.rmdir()
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
        with convert_write_errors(path, "cannot be written", "Choose another place."):
            yield draft
            os.replace(draft, place)
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
def convert_write_errors(
    place: str | Path, failure: str = "cannot write there", remedy: str = WRITE_REMEDY
) -> Iterator[None]:
    """Convert an OSError of the `with` block into an InputError that names the place."""
    try:
        yield
    except OSError as error:
        problem = f"{failure}: {error.strerror or error}"
        if is_disk_full(error):
            problem = "the disk is full"
        raise InputError(f"{show_path(place)}: {problem}.", remedy) from error


def remove_abandoned_drafts(parent: Path) -> None:
    """Remove what killed writers left in a folder; an artifact that was being replaced is restored."""
    if not parent.is_dir():
        return
    # 1. Drafts that nobody holds. If one is held or gone, its writer lives or another process was
    #    quicker.
    for draft, _ in _list_leftovers(parent, DRAFT):
        with suppress(BlockingIOError, FileNotFoundError), hold_lock(draft):
            shutil.rmtree(draft, ignore_errors=True)

    # 2. Replaced artifacts: put back if their writer was killed before it renamed the new one.
    with wait_for_lock(parent):
        for old, place in _list_leftovers(parent, OLD):
            if not _is_ours(old):
                continue
            if not os.path.lexists(place):
                os.replace(old, place)
            else:
                _discard(old)


def _list_leftovers(parent: Path, ending: str) -> list[tuple[Path, Path]]:
    """List the folders of our own naming in a folder, each with the place it was meant for."""
    found = []
    for path in parent.glob(f".*{ending}"):
        match = LEFT.fullmatch(path.name)
        if match and path.is_dir() and not path.is_symlink():
            found.append((path, parent / match[1]))
    return found


def _is_ours(folder: Path) -> bool:
    """Return whether a folder is an artifact: its manifest is valid and of a known kind."""
    try:
        return Manifest.load(folder).kind in ARTIFACTS
    except (InputError, OSError):
        return False


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error means that the disk is full.

    Rust libraries (safetensors, tokenizers) say so only in their message.
    """
    return getattr(error, "errno", None) in FULL or "No space left on device" in str(error)


def _make(folder: Path) -> tuple[Path, int]:
    """Remove leftovers next to `folder`, then make and lock a temporary folder there."""
    with suppress(OSError):  # what cannot be removed is somebody else's
        remove_abandoned_drafts(folder.parent)
    lock = None
    # Another process may take the new folder for abandoned and remove it before it is locked: then
    # make another one.
    while lock is None:
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
        lock = acquire_lock(draft)
        if lock is not None:
            if draft.is_dir():
                return lock
            os.close(lock)
    return None


def _put_in_place(draft: Path, folder: Path, overwrite: bool) -> None:
    """Rename the complete draft to its target, moving what is there out of the way first."""
    # 1. Give every file the mode of the manifest: some libraries write files that only their owner
    #    may read.
    mode = (draft / MANIFEST).stat().st_mode & 0o777
    for path in draft.rglob("*"):
        if path.is_file():
            path.chmod(mode)

    # 2. Rename. If the process is killed between the two renames, the next writer restores the old
    #    folder: see `remove_abandoned_drafts`.
    with wait_for_lock(folder.parent):
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
