"""Atomic writing: files and folders are written under a temporary name next to their target and
renamed when complete.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from vocadapt.errors import Canceled, InputError
from vocadapt.lab.workspace.disk_space import reserve_space
from vocadapt.lab.workspace.limits import check_not_read_only
from vocadapt.lab.workspace.locks import acquire_lock, hold_lock, wait_for_lock
from vocadapt.lab.workspace.manifest import ARTIFACTS, MANIFEST, Manifest
from vocadapt.system.files import check_output_path, show_path

DRAFT = ".draft"  # .<name>.<random>.draft: being written, or left behind by a killed writer
OLD = ".old"  # .<name>.<random>.old: being replaced
# Names of drafts and replaced folders; group 1: the name of the artifact.
LEFT = re.compile(r"\.(.+)\.[0-9a-f]{12}\.(?:draft|old)", re.DOTALL)
WRITE_REMEDY = "Free some disk space, change the permissions, or choose another workspace."
GROWING_PATIENCE = 6.0  # seconds; the workers of a killed study end within 5
FULL = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def open_draft(
    folder: Path, overwrite: bool = False, size: int = 0, spare: int = 0
) -> Iterator[Path]:
    """Yield an empty folder to fill; it is renamed to `folder` when the block ends, and removed if
    the block raises.

    The block writes the manifest last. size, spare: bytes as for `reserve_space`. Raises InputError
    if `folder` exists (unless `overwrite`) or cannot be created, or if there is too little room.
    """
    # 1. Check the target, and remember which of its parents do not exist yet.
    folder = Path(os.path.abspath(folder))
    check_free(folder, overwrite)
    missing = [parent for parent in folder.parents if not parent.exists()]
    try:
        with open_folder_draft(folder, size, spare) as draft:
            try:
                # 2. Let the block fill a draft, and put it in place.
                yield draft
                if not (draft / MANIFEST).is_file():
                    raise AssertionError(f"the block that writes {folder} left no {MANIFEST}")
                _put_in_place(draft, folder, overwrite)
            except OSError as error:
                if draft.is_dir():
                    raise
                raise InputError(
                    f"{folder} was not written: its draft was removed meanwhile.",
                    "Run it again, and do not remove files next to it until it is done.",
                ) from error
    except BaseException as error:
        # 3. If anything fails, leave nothing behind.
        _remove_empty(missing)
        if is_disk_full(error):
            raise InputError(
                f"The disk is full: {folder} was not written.",
                "Free some disk space, or choose another place.",
                code="disk-full",
            ) from error
        raise


@contextmanager
def open_growing(folder: Path, size: int = 0, spare: int = 0) -> Iterator[Path]:
    """Yield a folder that is filled over several runs, in place; it is locked during the block.

    A run that fails before its first result leaves nothing. size, spare: as for `reserve_space`.
    Raises InputError if another process fills the folder, or if vocadapt did not write its content.
    """
    folder = Path(os.path.abspath(folder))
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    if folder.is_dir() and any(folder.iterdir()) and not _is_ours(folder):
        raise InputError(
            f"{folder} was not written by vocadapt, so nothing is added to it.",
            "Choose another place.",
        )
    with convert_write_errors(folder, "cannot be written", "Choose another place."):
        folder.mkdir(parents=True, exist_ok=True)
    lock = acquire_lock(folder, patience=GROWING_PATIENCE)
    if lock is None:
        raise InputError(
            f"Another process is filling {folder}.",
            "Wait for it, or stop it, then run this again.",
            code="folder-in-use",
        )
    try:
        with reserve_space(folder, size, spare):
            yield folder
    except BaseException as error:
        if missing and all(path.name == MANIFEST for path in folder.iterdir()):
            shutil.rmtree(folder, ignore_errors=True)
            _remove_empty(missing[1:])
        elif isinstance(error, KeyboardInterrupt | Canceled) and not str(error):
            raise Canceled(f"{folder} keeps what is finished; run it again to continue") from None
        if is_disk_full(error):
            raise InputError(
                f"The disk is full: {folder} is not finished.",
                "Free some disk space, then run it again to continue.",
                code="disk-full",
            ) from error
        raise
    finally:
        os.close(lock)


def _remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders, the inner ones first, up to the first one that is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def check_free(folder: Path, overwrite: bool = False) -> None:
    """Raise InputError if `folder` exists and is not empty; `overwrite` allows artifacts."""
    check_output_path(folder)
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise InputError(
            f"{folder} is a file, not a folder.", "Choose another place.", code="no-folder"
        )
    if not any(folder.iterdir()):
        return
    if not overwrite:
        raise _build_exists_error(folder)
    if not _is_ours(folder):
        raise InputError(
            f"{folder} was not written by vocadapt, so it is not overwritten.",
            "Choose another place.",
            code="foreign-folder",
        )
    if foreign := Manifest.load(folder).list_foreign_files(folder):
        raise InputError(
            f"{folder} also holds {foreign[0]}, which vocadapt did not write there, so it is not"
            " overwritten.",
            "Move it away, or choose another place.",
            code="foreign-files",
        )


@contextmanager
def open_file_draft(path: Path) -> Iterator[Path]:
    """Yield a path to write; it is renamed to `path` when the block ends, and removed if the block
    raises; if this process is killed, the next writer removes it.

    The path has the name of the file, in a draft of a folder beside it: some formats are chosen by
    the ending. Raises InputError if the file cannot be written or the disk is full; see also
    `check_free_file`.
    """
    place = Path(os.path.realpath(path))  # replace the target of a link, not the link
    with (
        convert_write_errors(path, "cannot be written", "Choose another place."),
        open_folder_draft(place) as draft,
    ):
        yield draft / place.name
        os.replace(draft / place.name, place)


def check_free_file(path: Path, overwrite: bool = False) -> None:
    """Raise InputError if a file cannot be written; `overwrite` allows existing files."""
    check_output_path(path)
    if not path.parent.is_dir():
        raise InputError(
            f"{path}: there is no folder {path.parent}.",
            "Create it, or choose another place.",
            code="no-folder",
        )
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a file.", "Choose another place.", code="no-file")
    if path.exists() and not overwrite:
        raise _build_exists_error(path)


def _build_exists_error(path: Path) -> InputError:
    return InputError(
        f"{path} already exists.",
        "Choose another path, or overwrite it.",
        "overwrite",
        "already-exists",
    )


@contextmanager
def convert_write_errors(
    place: str | Path, failure: str = "cannot write there", remedy: str = WRITE_REMEDY
) -> Iterator[None]:
    """As `convert_os_errors`, for a block that writes: raises ReadOnlyError in a read-only lab."""
    check_not_read_only()
    with convert_os_errors(place, failure, remedy):
        yield


@contextmanager
def convert_os_errors(place: str | Path, failure: str, remedy: str) -> Iterator[None]:
    """Convert an OSError of the `with` block into an InputError that names the place."""
    try:
        yield
    except OSError as error:
        problem = f"{failure}: {error.strerror or error}"
        code = "cannot-write"
        if is_disk_full(error):
            problem, code = "the disk is full", "disk-full"
        raise InputError(f"{show_path(place)}: {problem}.", remedy, code=code) from error


def remove_abandoned_drafts(parent: Path) -> None:
    """Remove what killed writers left in a folder, and restore artifacts that were being replaced."""
    if not parent.is_dir():
        return
    # 1. Remove drafts that are not locked. A locked draft has a living writer; a missing one was
    #    removed by another process.
    for draft, _ in _list_leftovers(parent, DRAFT):
        with suppress(BlockingIOError, FileNotFoundError), hold_lock(draft):
            shutil.rmtree(draft, ignore_errors=True)

    # 2. Restore a replaced artifact if its writer was killed before it renamed the new one; remove
    #    it otherwise.
    with wait_for_lock(parent):
        for old, place in _list_leftovers(parent, OLD):
            if not _is_ours(old):
                continue
            if not os.path.lexists(place):
                os.replace(old, place)
            else:
                _discard(old)


def remove_abandoned_files(folder: Path) -> None:
    """Remove the drafts of small files that killed writers left in a folder."""
    for draft in folder.glob(f".*{DRAFT}"):
        if draft.is_file() and not draft.is_symlink():
            with suppress(BlockingIOError, FileNotFoundError), hold_lock(draft):
                draft.unlink(missing_ok=True)


def _list_leftovers(parent: Path, ending: str) -> list[tuple[Path, Path]]:
    """List the drafts or replaced folders in a folder, each with the path of its artifact."""
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

    Errors of Rust libraries (safetensors, tokenizers) have no errno, only a message.
    """
    return getattr(error, "errno", None) in FULL or "No space left on device" in str(error)


def make_draft(folder: Path) -> tuple[Path, int]:
    """Remove abandoned drafts next to `folder`, then create and lock a new draft there.

    Returns the draft and the descriptor of its lock. Raises InputError if it cannot be created, and
    OSError if the disk is full.
    """
    check_not_read_only()
    with suppress(OSError):  # such as files of another user
        remove_abandoned_drafts(folder.parent)
    lock = None
    # Another process may consider the new folder abandoned and remove it before it is locked: then
    # create another one.
    while lock is None:
        draft = folder.parent / f".{folder.name}.{uuid4().hex[:12]}{DRAFT}"
        try:
            draft.mkdir(parents=True)
            lock = _lock(draft)
        except OSError as error:
            if error.errno in FULL:
                raise
            raise InputError(
                f"{draft.parent}: cannot write there: {error.strerror}.",
                "Choose another place.",
                code="cannot-write",
            ) from error
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    return draft, lock


@contextmanager
def open_folder_draft(folder: Path, size: int = 0, spare: int = 0) -> Iterator[Path]:
    """Yield a new folder beside `folder`, which is removed at the end; if this process is killed,
    the next writer removes it. size, spare: bytes as for `reserve_space`.
    """
    with reserve_space(folder, size, spare):
        draft, lock = make_draft(folder)
        try:
            yield draft
        finally:
            os.close(lock)
            shutil.rmtree(draft, ignore_errors=True)


def _lock(draft: Path) -> int | None:
    """Lock a new folder and return the lock; None if another process has removed the folder."""
    with suppress(FileNotFoundError):
        lock = acquire_lock(draft)
        if lock is not None:
            if draft.is_dir():
                return lock
            os.close(lock)
    return None


def _put_in_place(draft: Path, folder: Path, overwrite: bool) -> None:
    """Rename the complete draft to its target, after renaming an existing target."""
    # 1. Give every file the permissions of the manifest: some libraries write files that only
    #    their owner can read.
    mode = (draft / MANIFEST).stat().st_mode & 0o777
    for path in draft.rglob("*"):
        if path.is_file():
            path.chmod(mode)

    # 2. Rename. If the process is killed between the two renames, the next writer restores the old
    #    folder: see `remove_abandoned_drafts`.
    with wait_for_lock(folder.parent):
        check_free(folder, overwrite)  # another process may have written it meanwhile
        if not (folder.is_dir() and any(folder.iterdir())):
            move_draft(draft, folder)
            return
        old = draft.with_name(draft.name.removesuffix(DRAFT) + OLD)
        os.replace(folder, old)
        os.replace(draft, folder)
    _discard(old)


def move_draft(draft: Path, folder: Path) -> None:
    """Rename a draft to its empty target; the current folder is filled, as a shell may be in it."""
    if not os.path.isdir(folder) or not os.path.samefile(folder, os.curdir):
        os.replace(draft, folder)
        return
    for path in sorted(draft.iterdir(), key=lambda path: path.name == MANIFEST):
        os.replace(path, folder / path.name)
    draft.rmdir()


def _discard(old: Path) -> None:
    """Remove a replaced artifact.

    It is first renamed as a draft: if the process is killed, it is later removed as abandoned.
    """
    with suppress(FileNotFoundError):  # another process has removed it
        abandoned = old.with_name(old.name.removesuffix(OLD) + DRAFT)
        os.replace(old, abandoned)
        shutil.rmtree(abandoned, ignore_errors=True)
