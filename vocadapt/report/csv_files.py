"""Tables as CSV, with unrounded numbers; missing values are empty."""

from collections.abc import Sequence

from vocadapt.report.table import Table
from vocadapt.report.text import flatten_text
from vocadapt.text.spreadsheet import format_csv


def write_csv(tables: Sequence[Table]) -> str:
    """Return tables as one CSV file: a column for each name of any of them, in order of appearance."""
    records = [record for table in tables for record in table.list_records()]
    names = list(dict.fromkeys(name for record in records for name in record))
    lines = [[_prepare(record.get(name)) for name in names] for record in records]
    return format_csv([names, *lines] if names else [])


def _prepare(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, tuple | list):
        value = " ".join(map(str, value))
    if isinstance(value, str):
        return flatten_text(value)
    return value
