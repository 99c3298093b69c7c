"""A table as a styled data frame of pandas, from which LaTeX and HTML are written."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from vocadapt.report.table import Table

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler

BOLD = "font-weight: bold"


def style_table(table: Table, escape: Callable[[str], str]) -> "Styler":
    """Return the cells and labels for readers, escaped, the best rows in bold.

    Columns are numbered, since labels may be equal, and get their labels when they are written.
    """
    import pandas as pd

    shown, best = table.shown, table.best_rows
    frame = pd.DataFrame(list(table.write_cells()), columns=range(len(shown)), dtype=str)
    styler = frame.style.format(lambda cell: escape(str(cell))).hide(axis="index")
    styler.format_index(lambda place: escape(shown[int(str(place))].label), axis=1)
    return styler.apply(lambda row: [BOLD if row.name in best else ""] * len(row), axis=1)
