"""Strict JSON, without NaN and Infinity, and atomic writing of small JSON files."""

import fcntl
import json
import os
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

from vocadapt.errors import InputError
from vocadapt.system.files import parse_json, read_document, show_path
from vocadapt.system.json_values import plain


def dumps(value: object, indent: int | None = None, ascii_only: bool = False) -> str:
    """Serialize to strict JSON: NaN and infinities become null, paths become strings, and numpy
    values become Python values.

    The text is always valid UTF-8: other bytes, for example in file names, are escaped.
    """
    text = json.dumps(plain(value), allow_nan=False, ensure_ascii=ascii_only, indent=indent)
    # Python represents bytes of file names that are not UTF-8 as lone surrogates.
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(plain(value), allow_nan=False, ensure_ascii=True, indent=indent)
    return text


def loads(text: str, what: str) -> dict[str, Any]:
    """Parse a strict JSON object; raise InputError, which names it as `what`, for anything else."""
    value = parse_json(text, what, "", parse_constant=_refuse)
    if not isinstance(value, dict):
        raise InputError(f"{what}: expected a JSON object, got {type(value).__name__}.")
    return value


def read(path: Path) -> dict[str, Any]:
    """Read a strict JSON object from a file; raise InputError for anything else, or without a file."""
    return loads(read_document(path), show_path(path))


def write(path: Path, value: object) -> None:
    """Write a value as JSON atomically: readers see either the old or the new content."""
    replace_text(path, format_file(value))


def format_file(value: object) -> str:
    """Return the text of a JSON file."""
    return dumps(value, indent=1) + "\n"


def replace_text(path: Path, text: str) -> None:
    """Write a text file atomically; other threads and processes may write the same file.

    The draft is locked, so that `drafts.remove_abandoned_files` knows that its writer is alive.
    """
    is_written = False
    while not is_written:
        draft = path.with_name(f".{path.name}.{uuid4().hex[:12]}.draft")
        try:
            with draft.open("x", encoding="utf-8", newline="\n") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(text)
                file.flush()
                # False if the draft was considered abandoned before it was locked: write it again.
                is_written = draft.exists()
                if is_written:
                    os.replace(draft, path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
