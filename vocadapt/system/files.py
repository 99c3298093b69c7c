"""Open and read files named by the user: only regular files and readable folders are accepted.

Pipes, devices and sockets are refused before reading, because reading one may never end.
"""

import errno
import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BufferedReader
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from vocadapt.errors import InputError

MEGABYTE = 1 << 20
MAX_LINE_BYTES = 64 * MEGABYTE  # default limit of a line
# Limit of a file that is read as a whole: a JSON document, a list of words.
MAX_DOCUMENT_BYTES = 256 * MEGABYTE
MAX_TOML_BYTES = MEGABYTE  # limit of a settings file: the TOML parser is slow
MAX_JSON_DEPTH = 200  # nesting depth of lists and objects
# Values in one document, and lines or cells of one that is split into them: each becomes an object
# that needs far more memory than its few characters.
MAX_JSON_VALUES = 5_000_000
MAX_CELLS = 5_000_000
MAX_LINES = 10_000_000
# A string, also one that never ends, or what separates and opens values.
JSON_MARK = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[,\[{]', re.DOTALL)
# Names with more dots between them than MAX_JSON_DEPTH: the parser needs the square of their
# number.
TOML_NAME = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
LONG_TOML_KEY = re.compile(
    rf"(?<![\w-]){TOML_NAME}(?:[ \t]*+\.[ \t]*+{TOML_NAME}){{{MAX_JSON_DEPTH}}}", re.ASCII
)
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # the escape of a surrogate
MAX_SHOWN = 200  # characters of a path in a message
SPECIAL = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def check_path(named: str | Path) -> Path:
    """Return the path of an existing file or folder, with links resolved and `~` expanded.

    Raises InputError if it does not exist, is neither a regular file nor a folder, or cannot be
    read.
    """
    path = expand_path(named)
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise _build_read_error(path, error) from None
    _refuse_special(path, mode, takes_folders=True)
    needed = os.R_OK
    if stat.S_ISDIR(mode):
        needed |= os.X_OK  # without it the files inside cannot be opened
    if not os.access(path, needed):
        raise _build_read_error(path, PermissionError())
    return path


def check_file(named: str | Path) -> Path:
    """Return the path of a regular file, as `check_path` does; raise InputError for others."""
    path = check_path(named)
    _refuse_special(path, os.stat(path).st_mode)
    return path


def check_folder(named: str | Path) -> Path:
    """Return the path of a folder, as `check_path` does; raise InputError for anything else."""
    path = check_path(named)
    if not path.is_dir():
        raise InputError(
            f"{show_path(path)}: expected a folder, found a file.",
            "Name the folder that holds it.",
            code="not-a-folder",
        )
    return path


def open_file(named: str | Path) -> BufferedReader:
    """Open a regular file for reading bytes; raise InputError as `check_file` does.

    The opened file itself is checked, not its path, and opening a pipe does not block.
    """
    path = expand_path(named)
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer, perhaps forever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _build_read_error(path, error) from None
    try:
        _refuse_special(path, os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_whole(named: str | Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> bytes:
    """Read all bytes of a file; raise InputError if there are more than `max_bytes`."""
    with open_file(named) as file:
        size = os.fstat(file.fileno()).st_size
        raw = file.read(min(size, max_bytes) + 1)  # allocate no more than the size of the file
        if len(raw) > size:  # it grew, or its size is unknown
            raw += file.read(max_bytes)
    if max(size, len(raw)) > max_bytes:
        raise build_size_error(named, max_bytes)
    return raw


def read_document(named: str | Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> str:
    """Read the UTF-8 text of a file, without its byte order mark and with \\r\\n as \\n.

    Raises InputError for more than `max_bytes`, for other encodings, and as `check_file` does.
    """
    # Decoded here, not by the file object, so that the error names the byte and its position.
    raw = read_whole(named, max_bytes)
    try:
        text = raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{show_path(named)}: expected UTF-8 text, found byte 0x{raw[error.start]:02X} at"
            f" position {error.start:,}.",
            "Save the file as UTF-8.",
            code="not-utf8",
        ) from None
    return normalize_line_ends(text)


def normalize_line_ends(text: str) -> str:
    """Return a text whose lines end with \\n instead of \\r\\n, or of \\r in a text without \\n."""
    if "\r" in text and "\n" not in text:
        return text.replace("\r", "\n")
    return text.replace("\r\n", "\n")


def read_json(named: str | Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> Any:
    """Read a JSON file; raise InputError as `parse_json` does."""
    return parse_json(read_document(named, max_bytes), show_path(named))


def parse_json(
    text: str,
    place: str,
    remedy: str = "Write or download it again.",
    parse_constant: Callable[[str], Any] | None = None,
) -> Any:
    """Parse JSON text; error messages begin with `place`.

    parse_constant: called for NaN and Infinity, which are not JSON; may raise ValueError.

    Raises InputError as `parse_record` does, for nesting of more than MAX_JSON_DEPTH levels, and
    for a lone surrogate (half of a character), which UTF-8 cannot encode.
    """
    value = parse_record(text, place, remedy, parse_constant)
    if text.count("[") + text.count("{") > MAX_JSON_DEPTH and _is_deeper_than(
        value, MAX_JSON_DEPTH
    ):
        raise _too_deep(place, remedy)
    # The plain search is fast, and most documents contain no escapes.
    if "\\u" in text and SURROGATE.search(text):
        _refuse_half_characters(value, place)
    return value


def parse_record(
    text: str, place: str, remedy: str, parse_constant: Callable[[str], Any] | None = None
) -> Any:
    """Parse JSON text with fewer checks than `parse_json`, for the many lines of a file.

    Raises InputError if it is not valid, or has more than MAX_JSON_VALUES values.
    """
    if len(text) > MAX_JSON_VALUES and _has_too_many_values(text):
        raise InputError(
            f"{place}: more than {MAX_JSON_VALUES:,} values in one JSON document.",
            remedy,
            code="too-many-values",
        )
    try:
        return json.loads(text, parse_constant=parse_constant)
    except RecursionError:
        raise _too_deep(place, remedy) from None
    except ValueError as error:
        raise InputError(
            f"{place}: not valid JSON ({error}).", remedy, code="invalid-json"
        ) from None


def _has_too_many_values(text: str) -> bool:
    if sum(map(text.count, ",[{")) <= MAX_JSON_VALUES:
        return False
    # Most of these characters may be inside of strings.
    values = (mark for mark in JSON_MARK.finditer(text) if text[mark.start()] != '"')
    return next(islice(values, MAX_JSON_VALUES, None), None) is not None


def read_json_object(named: str | Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> dict[str, Any]:
    """Read a JSON file that contains an object; raise InputError for any other value."""
    value = read_json(named, max_bytes)
    if not isinstance(value, dict):
        raise InputError(
            f"{show_path(Path(named))}: expected a JSON object, found {type(value).__name__}.",
            "Write or download it again.",
            code="not-a-json-object",
        )
    return value


def read_optional_json(path: Path) -> dict[str, Any]:
    """Read a JSON file that contains an object; {} if there is no such file."""
    return read_json_object(path) if path.is_file() else {}


def read_toml(named: str | Path, remedy: str = "Correct the file.") -> dict[str, Any]:
    """Read a TOML file; raise InputError if it is not valid."""
    return parse_toml(read_document(named, MAX_TOML_BYTES), show_path(named), remedy)


def parse_toml(text: str, place: str, remedy: str = "Correct the file.") -> dict[str, Any]:
    """Parse TOML text; raise InputError, which begins with `place`, if it is not valid or too
    large.
    """
    import tomllib

    if len(text) > MAX_TOML_BYTES:
        raise build_size_error(place, MAX_TOML_BYTES)
    if LONG_TOML_KEY.search(text):
        raise _too_deep(place, remedy)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise _too_deep(place, remedy) from None
    except ValueError as error:  # of TOML, and of numbers and dates in it
        raise InputError(
            f"{place}: not valid TOML ({error}).", remedy, code="invalid-toml"
        ) from None


def check_line_count(text: str, named: str | Path) -> None:
    """Raise InputError if a text has too many lines to be split into them."""
    if text.count("\n") > MAX_LINES:
        raise InputError(
            f"{show_path(named)}: more than {MAX_LINES:,} lines, the limit for such a file.",
            "Name a smaller file, or split this one.",
            code="too-many-lines",
        )


def check_cell_count(text: str, separator: str, named: str | Path) -> None:
    """Raise InputError if a table has too many lines or cells to be read as a whole."""
    if max(text.count("\n"), text.count(separator)) > MAX_CELLS:
        raise InputError(
            f"{show_path(named)}: more than {MAX_CELLS:,} cells, the limit for such a file.",
            "Leave out columns that are not needed, or split the file.",
            code="too-many-cells",
        )


def show_path(path: str | Path) -> str:
    """Format a path for a message: shortened, with bytes that are not UTF-8 escaped."""
    text = str(path).encode("utf-8", "backslashreplace").decode("utf-8")
    if len(text) <= MAX_SHOWN:
        return text
    # The middle of a path is the least informative part.
    half = MAX_SHOWN // 2
    return f"{text[:half]}…{text[-half:]}"


def build_size_error(named: str | Path, max_bytes: int) -> InputError:
    """Return the error for a file of more than `max_bytes` that must be read as a whole."""
    return InputError(
        f"{show_path(named)}: larger than {max_bytes / MEGABYTE:,.0f} MB, the limit for such a"
        " file.",
        "Name a smaller file, or split this one.",
        code="file-too-large",
    )


def check_utf8_path(named: str | Path) -> None:
    """Raise InputError for a path that is not UTF-8: a manifest could not contain it."""
    try:
        os.path.abspath(named).encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"{show_path(named)}: the name is not valid UTF-8.",
            "Rename the file or folder.",
            code="path-not-utf8",
        ) from None


def check_output_path(named: str | Path) -> None:
    """Raise InputError for a path that cannot be created: too long, a loop of links, with a NUL, or
    not UTF-8.
    """
    check_utf8_path(named)
    try:
        os.stat(named)
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a path cannot contain a NUL"
        raise InputError(
            f"{show_path(named)}: nothing can be written there ({reason}).",
            "Choose another place.",
            code="unwritable-path",
        ) from None


def expand_path(named: str | Path) -> Path:
    """Expand `~` in a path; raise InputError if the path is not UTF-8 or the user unknown."""
    check_utf8_path(named)
    try:
        return Path(named).expanduser()
    except RuntimeError:
        raise InputError(
            f"{show_path(named)}: no such user's folder.",
            "Check the spelling.",
            code="unknown-user",
        ) from None


def _build_read_error(path: Path, error: OSError | ValueError) -> InputError:
    if (
        isinstance(error, FileNotFoundError | NotADirectoryError | ValueError)
        or error.errno == errno.ENAMETOOLONG
    ):
        return InputError(
            f"{show_path(path)}: no such file or folder.",
            "Check the spelling.",
            code="missing-file",
        )
    if isinstance(error, PermissionError):
        return InputError(
            f"{show_path(path)}: permission to read it is missing.",
            "Change its permissions, or copy it.",
            code="no-read-permission",
        )
    if error.errno == errno.ENXIO:  # a socket cannot be opened at all
        return _build_special_error(path, stat.S_IFSOCK)
    return InputError(
        f"{show_path(path)}: cannot be read ({error.strerror}).",
        "Check the path and the permissions.",
        code="unreadable-file",
    )


def _refuse_special(path: Path, mode: int, takes_folders: bool = False) -> None:
    """Raise InputError if the mode (st_mode) is neither that of a regular file nor of a folder."""
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFDIR and not takes_folders:
        raise InputError(
            f"{show_path(path)}: expected a file, found a folder.",
            "Name a file inside it.",
            code="not-a-file",
        )
    if kind not in (stat.S_IFREG, stat.S_IFDIR):
        raise _build_special_error(path, kind)


def _build_special_error(path: Path, kind: int) -> InputError:
    """Return the error for a file of a kind (S_IFMT) that is never read."""
    found = SPECIAL.get(kind, "something else")
    return InputError(
        f"{show_path(path)}: expected a file, found {found}.",
        "Name a regular file, or a folder.",
        code="special-file",
    )


def _too_deep(place: str, remedy: str) -> InputError:
    return InputError(
        f"{place}: nested more than {MAX_JSON_DEPTH} levels deep.", remedy, code="nested-too-deep"
    )


def _refuse_half_characters(value: Any, place: str) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{place}: a string contains \\u{ord(error.object[error.start]):04x}, half of a"
            " character.",
            "Write the whole character, or remove it.",
            code="half-character",
        ) from None


def _is_deeper_than(value: Any, depth: int) -> bool:
    # Level by level, without recursion: deep nesting must not exhaust the stack.
    level = [value]
    for _ in range(depth):
        containers = [item for item in level if isinstance(item, dict | list)]
        level = []
        for container in containers:
            level.extend(container.values() if isinstance(container, dict) else container)
        if not level:
            return False
    return any(isinstance(item, dict | list) for item in level)


_scratch: ContextVar[Path | None] = ContextVar("scratch", default=None)


@contextmanager
def use_scratch(folder: Path) -> Iterator[None]:
    """Context manager: create temporary folders inside `folder`, and remove it at the end.

    The default is the system's temporary folder, which is often in memory.
    """
    folder.mkdir()
    former = _scratch.set(folder)
    try:
        yield
    finally:
        _scratch.reset(former)
        shutil.rmtree(folder, ignore_errors=True)


def temporary_folder() -> "TemporaryDirectory[str]":
    """Return a context manager that creates a temporary folder and removes it at the end."""
    return TemporaryDirectory(prefix="vocadapt-", dir=_scratch.get())


def create_temporary_folder() -> Path:
    """Create a temporary folder that the caller removes."""
    return Path(mkdtemp(prefix="vocadapt-", dir=_scratch.get()))


def write_atomically(path: Path, text: str) -> None:
    """Write a small text file so that readers see either the old or the whole new content."""
    draft = path.with_name(f"{path.name}.part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
