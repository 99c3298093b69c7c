"""Imported values of published tables: kept in the workspace, and merged when a table is shown."""

import os
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.disk_space import reserve_space
from vocadapt.lab.workspace.drafts import convert_write_errors
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.published.csv_values import ImportedValues, fill_table, read_csv
from vocadapt.published.reader import find_table
from vocadapt.published.tables import PublishedTable
from vocadapt.settings import build_settings

FOLDER = "published"  # in a workspace


def import_values(
    table: str, path: Path, workspace: Workspace, who: str = "", when: str = ""
) -> ImportedValues:
    """Read values for the empty cells of a table and keep them; they replace earlier ones.

    Raises InputError for an unknown table and for what `read_csv` refuses.
    """
    values = read_csv(path, find_table(table), who, when)
    place = _find_file(table, workspace)
    size = len(strict_json.format_file(values).encode())
    with reserve_space(place, size), convert_write_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        strict_json.write(place, values)
    return values


def read_imported(table: str, workspace: Workspace) -> ImportedValues | None:
    """Return the values that were imported for a table; None if there are none.

    Raises InputError for a file that vocadapt did not write.
    """
    place = _find_file(table, workspace)
    if not os.path.isfile(place):
        return None
    try:
        imported = build_settings(ImportedValues, strict_json.read(place), place.name)
    except InputError as error:
        raise _build_error(place, error.problem) from error
    for one in imported.values:  # the file may come from elsewhere
        if isinstance(one.value, bool) or not isinstance(one.value, str | int | float):
            raise _build_error(place, f"a value of the type {type(one.value).__name__}")
    return imported


def _build_error(place: Path, problem: str) -> InputError:
    return InputError(
        f"{place} does not hold imported values: {problem}",
        "Remove it, and import them again.",
        code="no-imported-values",
    )


def fill_imported(table: PublishedTable, workspace: Workspace | None) -> PublishedTable:
    """Return a table with the values that were imported for its empty cells."""
    values = read_imported(table.id, workspace) if workspace else None
    return fill_table(table, values) if values else table


def _find_file(table: str, workspace: Workspace) -> Path:
    return workspace.root / FOLDER / f"{table}.json"
