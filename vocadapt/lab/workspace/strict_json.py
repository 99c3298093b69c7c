"""JSON without NaN and Infinity, in either direction, and small files of it that are never half
written.
"""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from vocadapt.errors import InputError
from vocadapt.files import read_document, show_path


def dumps(value: object, indent: int | None = None, ascii_only: bool = False) -> str:
    """Serialize to strict JSON: NaN and infinities become null, paths strings, numpy numbers Python
    numbers.

    The text is always valid UTF-8: other bytes, as in names of files, are escaped.
    """
    text = json.dumps(plain(value), allow_nan=False, ensure_ascii=ascii_only, indent=indent)
    # Python keeps bytes of file names that are not UTF-8 as lone surrogates.
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(plain(value), allow_nan=False, ensure_ascii=True, indent=indent)
    return text


def plain(value: Any) -> Any:
    """Return the value in JSON's own types."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # numpy
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def loads(text: str, what: str) -> dict[str, Any]:
    """Read a strict JSON object; `what` names it in the InputError raised for anything else."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what}: expected JSON, but {error}.") from error
    if not isinstance(value, dict):
        raise InputError(f"{what}: expected a JSON object, came {type(value).__name__}.")
    return value


def read(path: Path) -> dict[str, Any]:
    """Read a strict JSON object from a file; raise InputError for anything else, and if there is no
    file.
    """
    return loads(read_document(path), show_path(path))


def write(path: Path, value: object) -> None:
    """Replace a file's content in one step: a reader sees the old or the new, never a part."""
    replace_text(path, dumps(value, indent=1) + "\n")


def replace_text(path: Path, text: str) -> None:
    """Replace a file's content by a text, as `write` does."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
