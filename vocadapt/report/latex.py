"""Tables as LaTeX, for the package booktabs."""

from collections.abc import Sequence

from vocadapt.report.styled import style_table
from vocadapt.report.table import Table
from vocadapt.report.text import flatten_text

MARKUP: dict[str, str | int | None] = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "[": "{[}",  # not the argument of the line break before it
    "]": "{]}",
    "±": r"$\pm$",
    "−": r"$-$",
    "Δ": r"$\Delta$",
    "≥": r"$\geq$",
    "–": "--",
    "·": r"$\cdot$",
}


def write_latex(tables: Sequence[Table]) -> str:
    """Return tables with booktabs rules, the best row in bold; title and notes are comments."""
    return "\n".join(map(_write_table, tables))


def escape_latex(text: str) -> str:
    """Escape text for LaTeX."""
    return flatten_text(text).translate(str.maketrans(MARKUP))


def _write_table(table: Table) -> str:
    comments = [f"% {flatten_text(text)}\n" for text in (table.title, *table.notes)]
    sides = "".join("l" if column.is_text else "r" for column in table.shown)
    styler = style_table(table, escape_latex)
    body = styler.to_latex(hrules=True, column_format=sides, convert_css=True)
    return "".join([*comments, body])
