"""Imported values of published tables: kept in the workspace, and merged when a table is shown."""

import os
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.disk_space import reserve_space
from vocadapt.lab.workspace.drafts import convert_write_errors
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.published.csv_values import ImportedValue, ImportedValues, fill_table, read_csv
from vocadapt.published.reader import find_table
from vocadapt.published.tables import PublishedTable

FOLDER = "published"  # in a workspace


def import_values(
    table: str, path: Path, workspace: Workspace, who: str = "", when: str = ""
) -> ImportedValues:
    """Read values for the empty cells of a table and keep them; they replace earlier ones.

    Raises InputError for an unknown table and for what `read_csv` refuses.
    """
    values = read_csv(path, find_table(table), who, when)
    place = _find_file(table, workspace)
    content = values.to_dict()
    size = len(strict_json.format_file(content).encode())
    with reserve_space(place, size), convert_write_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        strict_json.write(place, content)
    return values


def read_imported(table: str, workspace: Workspace) -> ImportedValues | None:
    """Return the values that were imported for a table; None if there are none.

    Raises InputError for a file that vocadapt did not write.
    """
    place = _find_file(table, workspace)
    if not os.path.isfile(place):
        return None
    content = strict_json.read(place)
    try:
        values = tuple(ImportedValue(**one) for one in content.pop("values"))
        imported = ImportedValues(**content, values=values)
        _check_types(imported)
        return imported
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(
            f"{place} does not hold imported values: {error}.", "Remove it, and import them again."
        ) from error


def _check_types(imported: ImportedValues) -> None:
    """Raise TypeError for a field of another type: the file may come from elsewhere."""
    texts: list[object] = [imported.table, imported.file, imported.who, imported.when]
    for one in imported.values:
        texts += [one.row, one.column, one.note]
        if isinstance(one.value, bool) or not isinstance(one.value, str | int | float):
            raise TypeError(f"a value of the type {type(one.value).__name__}")
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text of another type")


def fill_imported(table: PublishedTable, workspace: Workspace | None) -> PublishedTable:
    """Return a table with the values that were imported for its empty cells."""
    values = read_imported(table.id, workspace) if workspace else None
    return fill_table(table, values) if values else table


def _find_file(table: str, workspace: Workspace) -> Path:
    return workspace.root / FOLDER / f"{table}.json"
