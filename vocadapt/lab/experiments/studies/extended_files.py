"""Reading the file of a study that extends other files: all are merged into one table."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.workspace.records import EXTENDS, STUDY_PATHS, STUDY_TABLES
from vocadapt.system.files import expand_path, read_toml, show_path

MAX_EXTENDED = 10  # files that extend one another


def read_extended(
    path: Path, check: Callable[[str], None], above: tuple[Path, ...] = ()
) -> tuple[dict[str, Any], tuple[Path, ...]]:
    """Read a file merged over the one that it extends; return the table, and all files.

    Paths in an extended file are relative to that file, so they are made absolute here. check:
    raises InputError for an extended file that may not be read.
    """
    place = expand_path(path)
    if not os.path.isfile(place):
        raise InputError(f"{show_path(path)}: there is no such file.", "Give the file of a study.")
    place = place.resolve()
    if place in above or len(above) >= MAX_EXTENDED:
        raise InputError(
            f"{show_path(path)}: a study extends itself, or more than {MAX_EXTENDED} others.",
            "Remove the key extends from one of them.",
        )
    table = read_toml(place)
    base = table.get(EXTENDS)
    if base is None:
        return table, (place,)
    if not isinstance(base, str):
        raise InputError(f"{show_path(path)}: extends: expected a file name.")
    check(str(place.parent / base))
    below, files = read_extended(place.parent / base, check, (*above, place))
    if files[0].parent != place.parent:
        below = _make_absolute(below, files[0].parent)
    below.pop("name", None)  # the extending study has a folder of its own
    return _merge(below, table), (place, *files)


def _make_absolute(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return a file's table with the paths in its texts, variants and tasks made absolute."""
    changed = dict(table)
    for part in STUDY_TABLES:
        if isinstance(entries := table.get(part), list):
            changed[part] = [_make_entry_absolute(entry, folder, part) for entry in entries]
    return changed


def _make_entry_absolute(entry: Any, folder: Path, part: str) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    changed = dict(entry)
    if part == "tasks" and "kind" not in entry and "name" in entry:
        changed.setdefault("task", entry["name"])  # such a task is found by its name
    for key in STUDY_PATHS:
        value = changed.get(key)
        if isinstance(value, list):
            changed[key] = [_find_beside(one, folder) for one in value]
        elif key in changed:
            changed[key] = _find_beside(value, folder)
    return changed


def _find_beside(value: Any, folder: Path) -> Any:
    """Return the absolute path of a file in a folder; others, such as hub names, unchanged."""
    if isinstance(value, str) and value:
        place = folder / expand_path(value)
        if os.path.exists(place):
            return str(place)
    return value


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table merged over another: tables by key, lists of named tables by name."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            merged[key] = _merge(old, value)
        elif old is not None and _are_named(old) and _are_named(value):
            merged[key] = _merge_named(old, value)
        else:
            merged[key] = value
    return merged


def _merge_named(
    below: Sequence[Mapping[str, Any]], above: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return tables merged over those of the same name, new ones last."""
    changes = {one["name"]: one for one in above}
    known = {one["name"] for one in below}
    merged = [_merge(one, changes.get(one["name"], {})) for one in below]
    # Keep repeated names: the reader refuses them.
    repeated = [one for one in above if one is not changes[one["name"]]]
    return [*merged, *(one for one in above if one["name"] not in known), *repeated]


def _are_named(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in value
    )
