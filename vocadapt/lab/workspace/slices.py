"""Slices: named selections of tokens, one small file each in `<workspace>/slices/`.

Tokens are saved by name, so a slice selected in the projection of one space can be shown in
another.
"""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.disk_space import reserve_space
from vocadapt.lab.workspace.drafts import convert_write_errors
from vocadapt.lab.workspace.locks import wait_for_lock
from vocadapt.lab.workspace.workspace import Workspace, check_name, is_name, number_names
from vocadapt.system.json_values import build_value, has_type

FOLDER = "slices"
MAX_NAME_LENGTH = 100  # characters of a name


@dataclass(frozen=True)
class Slice:
    """A selection of tokens: id (the file's name), name, tokens in order, and their source.

    `source`: space, projection and method of the selection, as texts for display.
    """

    id: str
    name: str
    tokens: tuple[str, ...]
    source: Mapping[str, str] = field(default_factory=dict)
    created: str = ""


def save_slice(
    workspace: Workspace, name: str, tokens: Iterable[str], source: Mapping[str, str] | None = None
) -> Slice:
    """Save a slice under an unused id derived from its name; nothing is overwritten.

    Raises InputError for an empty or overlong name, and for no tokens.
    """
    name = " ".join(name.split())
    chosen = tuple(dict.fromkeys(tokens))
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        raise InputError(
            f"A slice needs a name of 1 to {MAX_NAME_LENGTH} characters, got {len(name)}.",
            "Give it another name.",
        )
    if not chosen:
        raise InputError(
            "A slice needs at least one token, and none is selected.",
            "Select tokens in the projection first.",
        )

    # The id is a file name derived from the slice's name, such as heart-diseases-2.
    base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "slice"
    if not is_name(base):
        base = f"slice-{base}"
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    made = Slice(base, name, chosen, dict(source or {}), now)
    size = len(strict_json.format_file(asdict(made)).encode())
    folder = _path(workspace, base).parent
    with reserve_space(folder, size), convert_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with wait_for_lock(folder):
            path = next(
                path
                for path in (_path(workspace, id) for id in number_names(base))
                if not path.exists()
            )
            made = replace(made, id=path.stem)
            strict_json.write(path, asdict(made))
    return made


def load_slice(workspace: Workspace, id: str) -> Slice:
    """Read a slice; raises InputError if there is none, or the file is invalid."""
    path = _path(workspace, id)
    if not os.path.lexists(path):
        raise InputError(
            f"There is no slice {id} in {workspace.root}.",
            "Choose another, or select and save one.",
        )
    try:
        found: Slice = build_value(Slice, strict_json.read(path))
    except (TypeError, AttributeError):
        found = Slice("", "", ())
    if not has_type(found, Slice) or not found.tokens:
        raise InputError(
            f"{path}: expected a slice with id, name, tokens, source and created.",
            "Remove the file.",
        )
    # Not the id in the file, which may have been renamed.
    return replace(found, id=path.stem, name=found.name[:MAX_NAME_LENGTH])


def list_slices(workspace: Workspace) -> list[Slice]:
    """List the slices of a workspace, newest first; other files are skipped."""
    found = []
    for path in sorted((workspace.root / FOLDER).glob("*.json")):
        with suppress(InputError):
            found.append(load_slice(workspace, path.stem))
    return sorted(found, key=lambda one: one.created, reverse=True)


def delete_slice(workspace: Workspace, id: str) -> None:
    """Remove a slice; raises InputError if there is none."""
    path = _path(workspace, id)
    with convert_write_errors(path.parent):
        try:
            path.unlink()
        except FileNotFoundError as error:
            raise InputError(
                f"There is no slice {id} in {workspace.root}.", "Choose another."
            ) from error


def _path(workspace: Workspace, id: str) -> Path:
    """Return the path of a slice; raises InputError for an id that is invalid or leads out."""
    path = workspace.root / FOLDER / f"{check_name(id)}.json"
    if not path.resolve().is_relative_to(workspace.root):
        raise InputError(
            f"{FOLDER}/{id} leads out of the workspace.", "Remove the link.", code="leads-out"
        )
    return path
