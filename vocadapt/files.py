"""The one door for files: whatever a user names comes in here, and only a regular file or a folder that can be read passes.

Pipes, devices and sockets are refused before anything is read from them: reading one may never end.
"""

import errno
import json
import os
import re
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError

MEGABYTE = 1 << 20
MAX_LINE_BYTES = 64 * MEGABYTE  # a longer line is refused, unless the reader is told another limit
MAX_DOCUMENT_BYTES = 256 * MEGABYTE  # of a file that can only be read whole: a recipe, a JSON document, a list of words
MAX_TOML_BYTES = MEGABYTE  # of settings that people write: the parser is slow
MAX_JSON_DEPTH = 200  # nested lists and objects
MAX_JSON_CONTAINERS = 5_000_000  # lists and objects in one document: each takes far more memory than its two characters
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # the escape of half a character
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
    path = expand_path(named)
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


def open_file(named: str | Path) -> BufferedReader:
    """Open a regular file to read its bytes; raises what `check_file` does.

    What was checked is the file that was opened, and opening a pipe does not wait for its other end.
    """
    path = expand_path(named)
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


def read_whole(named: str | Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> bytes:
    """Return the bytes of a file that can only be read whole; raises InputError if there are more than `max_bytes`."""
    with open_file(named) as file:
        size = os.fstat(file.fileno()).st_size
        raw = file.read(min(size, max_bytes) + 1)  # no more is allocated than the file has
        if len(raw) > size:  # it grew, or does not tell its size
            raw += file.read(max_bytes)
    if max(size, len(raw)) > max_bytes:
        raise build_size_error(named, max_bytes)
    return raw


def read_document(named: str | Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> str:
    """Return the UTF-8 text of a file that is read whole, without its byte order mark, \\r\\n as \\n.

    Raises InputError for a file of more than `max_bytes`, for other encodings, and for what `check_file` refuses.
    """
    raw = read_whole(named, max_bytes)
    try:
        text = raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        problem = f"expected UTF-8 text, found byte 0x{raw[error.start]:02X} at position {error.start:,}"
        raise InputError(f"{show_path(named)}: {problem}.", "Save the file as UTF-8.") from None
    return text.replace("\r\n", "\n")


def read_json(named: str | Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> Any:
    """Return the value that a JSON file holds; raises InputError for what `parse_json` refuses."""
    return parse_json(read_document(named, max_bytes), show_path(named))


def parse_json(text: str, place: str, remedy: str = "Write or download it again.") -> Any:
    """Return the value that JSON text holds; `place` begins the message.

    Raises InputError for what `parse_record` refuses, for nesting of more than MAX_JSON_DEPTH levels, and for a lone surrogate
    (half of a character), which no UTF-8 file can hold.
    """
    value = parse_record(text, place, remedy)
    if text.count("[") + text.count("{") > MAX_JSON_DEPTH and _is_deeper_than(value, MAX_JSON_DEPTH):
        raise _too_deep(place, remedy)
    if "\\u" in text and SURROGATE.search(text):
        _refuse_half_characters(value, place)
    return value


def parse_record(text: str, place: str, remedy: str) -> Any:
    """Return the value of JSON text of which little is used, as quickly as it can be read.

    Raises InputError if it is not valid, or holds more than MAX_JSON_CONTAINERS lists and objects.
    """
    if len(text) > MAX_JSON_CONTAINERS and text.count("[") + text.count("{") > MAX_JSON_CONTAINERS:
        raise InputError(f"{place}: more than {MAX_JSON_CONTAINERS:,} lists and objects in one JSON document.", remedy)
    try:
        return json.loads(text)
    except RecursionError:
        raise _too_deep(place, remedy) from None
    except ValueError as error:
        raise InputError(f"{place}: not valid JSON ({error}).", remedy) from None


def read_json_object(named: str | Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> dict[str, Any]:
    """Return the object that a JSON file holds; raises InputError for any other value."""
    value = read_json(named, max_bytes)
    if not isinstance(value, dict):
        problem = f"{show_path(Path(named))}: expected a JSON object, found {type(value).__name__}."
        raise InputError(problem, "Write or download it again.")
    return value


def read_toml(named: str | Path, remedy: str = "Correct the file.") -> dict[str, Any]:
    """Return the content of a TOML file; raises InputError if it is not valid."""
    import tomllib

    try:
        return tomllib.loads(read_document(named, MAX_TOML_BYTES))
    except RecursionError:
        raise _too_deep(show_path(named), remedy) from None
    except ValueError as error:  # of TOML, and of numbers and dates in it
        raise InputError(f"{show_path(named)}: not valid TOML ({error}).", remedy) from None


def show_path(path: str | Path) -> str:
    """Return a path as a message can hold it: of bounded length, bytes that are no UTF-8 escaped."""
    text = str(path).encode("utf-8", "backslashreplace").decode("utf-8")
    if len(text) <= MAX_SHOWN:
        return text
    half = MAX_SHOWN // 2
    return f"{text[:half]}…{text[-half:]}"


def build_size_error(named: str | Path, max_bytes: int) -> InputError:
    """Return the error for a file that can only be read whole and has more than `max_bytes`."""
    problem = f"larger than {max_bytes / MEGABYTE:,.0f} MB, the most that is read of such a file"
    return InputError(f"{show_path(named)}: {problem}.", "Name a smaller file, or split this one.")


def check_utf8_path(named: str | Path) -> None:
    """Raise InputError for a path with bytes that are not UTF-8: no manifest and no command line could name it."""
    try:
        os.path.abspath(named).encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{show_path(named)}: the name is not valid UTF-8.", "Rename the file or folder.") from None


def check_output_path(named: str | Path) -> None:
    """Raise InputError for a path where nothing can be written: too long, a loop of links, a NUL, or not valid UTF-8."""
    check_utf8_path(named)
    try:
        os.stat(named)
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no path holds a NUL"
        raise InputError(f"{show_path(named)}: nothing can be written there ({reason}).", "Choose another place.") from None


def expand_path(named: str | Path) -> Path:
    """Return the path with `~` expanded; raises InputError for a name that is not UTF-8, and for an unknown user."""
    check_utf8_path(named)
    try:
        return Path(named).expanduser()
    except RuntimeError:
        raise InputError(f"{show_path(named)}: no such user's folder.", "Check the spelling.") from None


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


def _too_deep(place: str, remedy: str) -> InputError:
    return InputError(f"{place}: nested more than {MAX_JSON_DEPTH} levels deep.", remedy)


def _refuse_half_characters(value: Any, place: str) -> None:
    """Raise InputError if a text of the value holds a lone surrogate."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        problem = f"{place}: a text holds \\u{ord(error.object[error.start]):04x}, half of a character."
        raise InputError(problem, "Write the whole character, or remove it.") from None


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
