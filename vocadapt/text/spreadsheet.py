"""CSV and TSV tables for spreadsheets, without cells that a spreadsheet would evaluate as formulas.

Tokens, names and texts are untrusted. A spreadsheet evaluates a cell that begins with =, +, - or @,
so `escape_cell` puts an apostrophe before such text, and `unescape_cell` removes it when we read a
table. Text that already looks escaped gets another apostrophe, so that escaping is reversible.
Numbers are not changed.

Not escaped: Parquet files, which spreadsheets do not evaluate, and predictions in the format of a
task, which other programs compare with the original text.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
QUOTE = "'"
BREAKS = re.compile(r"[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def escape_cell(cell: object) -> object:
    """Put an apostrophe before text that a spreadsheet would evaluate as a formula; other values
    are unchanged.
    """
    if isinstance(cell, str) and _looks_like_formula(cell):
        return QUOTE + cell
    return cell


def unescape_cell(text: str) -> str:
    """Undo `escape_cell`; other text is unchanged."""
    if _looks_like_formula(text):
        return text.removeprefix(QUOTE)
    return text


def format_csv(rows: Iterable[Sequence[object]]) -> str:
    """Format rows as CSV, with escaped cells."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(
        [_csv_cell(cell) for cell in row] for row in rows
    )
    return file.getvalue()


def format_tsv(rows: Iterable[Sequence[object]]) -> str:
    """Format rows as TSV, with escaped cells; tabs and line breaks in a cell become spaces."""
    lines = []
    for row in rows:
        cells = [BREAKS.sub(" ", str(escape_cell(cell))) for cell in row]
        lines.append("\t".join(cells) + "\n")
    return "".join(lines)


def format_frame_as_csv(frame: "pd.DataFrame") -> str:
    """Format a data frame as CSV without its index, with escaped cells."""
    from pandas.api.types import is_numeric_dtype

    safe = frame.copy()
    for name in frame.columns:
        if not is_numeric_dtype(frame[name]):
            safe[name] = frame[name].map(_csv_cell)
    return str(safe.rename(columns=escape_cell).to_csv(index=False, lineterminator="\n"))


def _looks_like_formula(text: str) -> bool:
    """Return whether text begins like a formula, after any spaces and apostrophes."""
    return text.lstrip(QUOTE).lstrip().startswith(FORMULA)


def _csv_cell(cell: object) -> object:
    """Escape a cell and replace bare carriage returns, which the csv module does not quote."""
    if isinstance(cell, str):
        cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    return escape_cell(cell)
