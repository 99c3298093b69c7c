"""Results that a step saves as facts (JSON) and arrays (tensors), and that pages read again."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.spaces.io.tensors import index_tensors
from vocadapt.system.json_values import build_value

T = TypeVar("T")


def save_result(result: object, folder: Path, files: tuple[str, str]) -> None:
    """Write a dataclass: its arrays as tensors with the names of their fields, such as
    change.overlap; everything else as strict JSON.

    files: names of the files with the facts and the tensors.
    """
    from safetensors.numpy import save_file

    tensors: dict[str, Any] = {}
    strict_json.write(folder / files[0], _take_arrays(result, "", tensors))
    save_file(tensors, folder / files[1])


def _take_arrays(value: Any, name: str, tensors: dict[str, Any]) -> Any:
    """Return a value without its arrays, which are added to the tensors."""
    if isinstance(value, np.ndarray):
        # Tensors hold no booleans.
        kind = np.dtype(np.int32) if value.dtype == bool else value.dtype
        tensors[name] = np.ascontiguousarray(value, dtype=kind)
        return None
    if not is_dataclass(value):
        return value
    prefix = f"{name}." if name else ""
    return {
        one.name: _take_arrays(getattr(value, one.name), prefix + one.name, tensors)
        for one in fields(value)
    }


def load_result(
    kind: type[T],
    folder: Path,
    files: tuple[str, str],
    check: Callable[[T], None],
    what: str,
    remedy: str,
) -> T:
    """Read a result that `save_result` wrote.

    check: raises ValueError if the parts of a result do not fit together. what, remedy: for the
    InputError if a file is missing or damaged, or lacks settings of this version.
    """
    for name in files:
        if not (folder / name).is_file():
            raise InputError(
                f"{folder}: expected a {what}, {name} is missing.", remedy, code="no-result"
            )
    facts = strict_json.read(folder / files[0])
    tensors = index_tensors(folder / files[1])
    try:
        for name, tensor in tensors.items():
            *groups, last = name.split(".")
            place = facts
            for group in groups:
                place = place[group]
            place[last] = tensor.rows()
        result: T = build_value(kind, facts)
        check(result)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, InputError) as error:
        raise InputError(
            f"{folder}: the {what} was made by an earlier version of vocadapt, or is damaged.",
            remedy,
            code="damaged-result",
        ) from error
    return result
