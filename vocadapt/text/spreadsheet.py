"""CSV and TSV tables for spreadsheets, without cells that a spreadsheet would evaluate as formulas.

Tokens, names and texts are untrusted. A spreadsheet evaluates a cell that begins with =, +, - or @,
and may ignore invisible characters before it. `escape_cell` puts an apostrophe before such text,
and `unescape_cell` removes it when we read a table. Text that already looks escaped gets another
apostrophe, so that escaping is reversible. Numbers are not changed.

Where numbers have a decimal comma, a spreadsheet separates cells by semicolons. Text after a
semicolon, a tab or a line break inside a cell is therefore escaped like the beginning of a cell:
`a;=1` -> `a;'=1`.

Not escaped: Parquet files, which spreadsheets do not evaluate, and predictions in the format of a
task, which other programs compare with the original text.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# Also the full-width and small forms, which East Asian spreadsheets accept.
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦", "﹢", "﹣", "﹫")
QUOTE = "'"
SEPARATORS = ";\t\n\r"
# Characters that show nothing: spaces, controls, marks of direction, fillers, variation selectors,
# tags and the byte order mark.
INVISIBLE = (
    r"\x00-\x08\x0b\x0c\x0e-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"
    r"\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# A place where a cell begins, and what makes the text after it look like a formula.
BEGINNING = rf"(?:\A|(?<=[{SEPARATORS}]))"
LOOKS_LIKE_FORMULA = rf"(?={QUOTE}*[{INVISIBLE}]*[{re.escape(''.join(FORMULA))}])"
UNESCAPED = re.compile(BEGINNING + LOOKS_LIKE_FORMULA)
ESCAPED = re.compile(BEGINNING + QUOTE + LOOKS_LIKE_FORMULA)
BREAKS = re.compile(r"[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def escape_cell(cell: object) -> object:
    """Put an apostrophe before a text or path that a spreadsheet would take for a formula."""
    if isinstance(cell, PurePath):
        cell = str(cell)
    if isinstance(cell, str):
        return UNESCAPED.sub(QUOTE, cell)
    return cell


def unescape_cell(text: str) -> str:
    """Undo `escape_cell`; other text is unchanged."""
    return ESCAPED.sub("", text)


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
        cells = [str(escape_cell(_replace_breaks(cell))) for cell in row]
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


def _replace_breaks(cell: object) -> object:
    if isinstance(cell, PurePath):
        cell = str(cell)
    if isinstance(cell, str):
        return BREAKS.sub(" ", cell)
    return cell


def _csv_cell(cell: object) -> object:
    """Escape a cell and replace bare carriage returns, which the csv module does not quote."""
    if isinstance(cell, str):
        cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    return escape_cell(cell)
