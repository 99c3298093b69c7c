"""Results that a step saves as facts (JSON) and tensors, and that pages read again."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.spaces.io.tensors import index_tensors

T = TypeVar("T")


def load_result(
    folder: Path,
    files: tuple[str, str],
    build: Callable[[Mapping[str, Any], Mapping[str, Any]], T],
    what: str,
    remedy: str,
) -> T:
    """Read a saved result of a step.

    files: names of the files with the facts and the tensors. build: makes the result from both.
    what, remedy: for the InputError if a file is missing or damaged.
    """
    for name in files:
        if not (folder / name).is_file():
            raise InputError(f"{folder}: expected a {what}, {name} is missing.", remedy)
    facts, tensors = files
    stored = {name: tensor.rows() for name, tensor in index_tensors(folder / tensors).items()}
    try:
        return build(strict_json.read(folder / facts), stored)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"{folder}: the {what} is damaged ({error}).", remedy) from error
