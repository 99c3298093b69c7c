"""Tables for spreadsheets: CSV and TSV whose cells are never read as formulas.

Tokens, names and texts come from anybody. A spreadsheet computes a cell that begins with =, +, - or @, so such text gets an
apostrophe in front. `unescape_cell` takes it away again: our own readers of tables call it. Text that already looks escaped gets
one more apostrophe, so that escaping can always be undone. Numbers stay as they are.

Two kinds of files are not escaped: Parquet, which no spreadsheet computes, and files in the format of a task (predictions),
whose words other programs compare with their own.
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
    """Return a cell that no spreadsheet computes: text that begins like a formula gets an apostrophe in front."""
    return QUOTE + cell if isinstance(cell, str) and _is_like_formula(cell) else cell


def unescape_cell(text: str) -> str:
    """Return the text that `escape_cell` escaped; any other text stays as it is."""
    return text[1:] if text.startswith(QUOTE) and _is_like_formula(text) else text


def format_csv(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as the text of a CSV file."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([_csv_cell(cell) for cell in row] for row in rows)
    return file.getvalue()


def format_tsv(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as the text of a TSV file; tabs and line breaks inside a cell become blanks."""
    return "".join("\t".join(str(escape_cell(_one_line(cell))) for cell in row) + "\n" for row in rows)


def format_frame_as_csv(frame: "pd.DataFrame") -> str:
    """Return a data frame as the text of a CSV file, without its index."""
    from pandas.api.types import is_numeric_dtype

    safe = frame.copy()
    for name in frame.columns:
        if not is_numeric_dtype(frame[name]):
            safe[name] = frame[name].map(_csv_cell)
    return str(safe.rename(columns=escape_cell).to_csv(index=False, lineterminator="\n"))


def _is_like_formula(text: str) -> bool:
    """Return whether text is a formula to a spreadsheet, blanks and apostrophes before it not counted."""
    return text.lstrip(QUOTE).lstrip().startswith(FORMULA)


def _csv_cell(cell: object) -> object:
    """Return a safe cell without a bare carriage return, which the csv module leaves outside quotation marks."""
    if isinstance(cell, str):
        cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    return escape_cell(cell)


def _one_line(cell: object) -> object:
    return BREAKS.sub(" ", cell) if isinstance(cell, str) else cell
