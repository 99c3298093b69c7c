"""The one door for files: whatever a user names comes in here, and only a regular file or a folder that can be read passes.

Pipes, devices and sockets are refused before anything is read from them: reading one may never end.
"""

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from vocadapt.errors import InputError

MEGABYTE = 1 << 20
MAX_LINE_BYTES = 64 * MEGABYTE  # a longer line is refused, unless the reader is told another limit
MAX_DOCUMENT_BYTES = 256 * MEGABYTE  # of a file that can only be read whole: a recipe, a JSON document, a list of words
MAX_JSON_DEPTH = 200  # nested lists and objects
MAX_SHOWN = 200  # characters of a path in a message
SPECIAL = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def check_path(named: str | Path) -> Path:
    """Return the file or folder that `named` leads to, links followed and `~` expanded.

    Raises InputError if nothing is there, if it is neither a regular file nor a folder, or if it cannot be read.
    """
    path = Path(named).expanduser()
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise _cannot_be_read(path, error) from None
    _refuse_special(path, mode)
    needed = os.R_OK | os.X_OK if stat.S_ISDIR(mode) else os.R_OK
    if not os.access(path, needed):
        raise InputError(f"{show_path(path)}: permission to read it is missing.", "Change its permissions, or copy it.")
    return path


def check_file(named: str | Path) -> Path:
    """Return the regular file that `named` leads to; raises InputError for anything else, folders included."""
    path = check_path(named)
    if path.is_dir():
        raise InputError(f"{show_path(path)}: expected a file, found a folder.", "Name a file inside it.")
    return path


def check_folder(named: str | Path) -> Path:
    """Return the folder that `named` leads to; raises InputError for anything else, files included."""
    path = check_path(named)
    if not path.is_dir():
        raise InputError(f"{show_path(path)}: expected a folder, found a file.", "Name the folder that holds it.")
    return path


def open_file(named: str | Path) -> BinaryIO:
    """Open a regular file to read its bytes; raises what `check_file` does.

    What was checked is the file that was opened, and opening a pipe does not wait for its other end.
    """
    path = Path(named).expanduser()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _cannot_be_read(path, error) from None
    try:
        _refuse_special(path, os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except IsADirectoryError:
        os.close(descriptor)
        raise InputError(f"{show_path(path)}: expected a file, found a folder.", "Name a file inside it.") from None
    except BaseException:
        os.close(descriptor)
        raise


def read_document(named: str | Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> str:
    """Return the UTF-8 text of a file that is read whole, without its byte order mark.

    Raises InputError for a file of more than `max_bytes`, for other encodings, and for what `check_file` refuses.
    """
    path = Path(named)
    with open_file(path) as file:
        raw = file.read(max_bytes + 1)
    if len(raw) > max_bytes:
        size = f"{max_bytes / MEGABYTE:.0f} MB"
        raise InputError(f"{show_path(path)}: larger than {size}, the most that is read of such a file.", "Name a smaller file.")
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        problem = f"{show_path(path)}: expected UTF-8 text, found byte 0x{raw[error.start]:02X} at position {error.start:,}."
        raise InputError(problem, "Save the file as UTF-8.") from None


def read_json(named: str | Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> Any:
    """Return the value that a JSON file holds; raises InputError if it holds none, or one nested too deeply."""
    path = Path(named)
    try:
        value = json.loads(read_document(path, max_bytes))
    except RecursionError:
        raise _too_deep(path) from None
    except ValueError as error:
        raise InputError(f"{show_path(path)}: not valid JSON ({error}).", "Write or download it again.") from None
    if _is_deeper_than(value, MAX_JSON_DEPTH):
        raise _too_deep(path)
    return value


def read_json_object(named: str | Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> dict[str, Any]:
    """Return the object that a JSON file holds; raises InputError for any other value."""
    value = read_json(named, max_bytes)
    if not isinstance(value, dict):
        problem = f"{show_path(Path(named))}: expected a JSON object, found {type(value).__name__}."
        raise InputError(problem, "Write or download it again.")
    return value


def show_path(path: str | Path) -> str:
    """Return a path as a message can hold it: of bounded length, bytes that are no UTF-8 escaped."""
    text = str(path).encode("utf-8", "backslashreplace").decode("utf-8")
    if len(text) <= MAX_SHOWN:
        return text
    half = MAX_SHOWN // 2
    return f"{text[:half]}…{text[-half:]}"


def _cannot_be_read(path: Path, error: OSError | ValueError) -> InputError:
    """Return what to say of a path that the system does not open."""
    if isinstance(error, FileNotFoundError | NotADirectoryError | ValueError) or error.errno == errno.ENAMETOOLONG:
        return InputError(f"{show_path(path)}: no such file or folder.", "Check the spelling.")
    if isinstance(error, PermissionError):
        return InputError(f"{show_path(path)}: permission to read it is missing.", "Change its permissions, or copy it.")
    if error.errno == errno.ENXIO:  # a socket cannot be opened at all
        return InputError(f"{show_path(path)}: expected a file, found a socket.", "Name a regular file.")
    return InputError(f"{show_path(path)}: cannot be read ({error.strerror}).", "Check the path and the permissions.")


def _refuse_special(path: Path, mode: int) -> None:
    """Raise InputError unless the mode is that of a regular file or a folder."""
    kind = stat.S_IFMT(mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR):
        found = SPECIAL.get(kind, "something else")
        raise InputError(f"{show_path(path)}: expected a file, found {found}.", "Name a regular file, or a folder.")


def _too_deep(path: Path) -> InputError:
    problem = f"{show_path(path)}: nested more than {MAX_JSON_DEPTH} levels deep."
    return InputError(problem, "Write or download it again.")


def _is_deeper_than(value: Any, depth: int) -> bool:
    """Return whether lists and objects stand more than `depth` levels inside each other."""
    level = [value]
    for _ in range(depth):
        containers = [item for item in level if isinstance(item, dict | list)]
        level = []
        for container in containers:
            level.extend(container.values() if isinstance(container, dict) else container)
        if not level:
            return False
    return any(isinstance(item, dict | list) for item in level)
