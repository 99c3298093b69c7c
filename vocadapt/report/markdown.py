"""Tables as Markdown."""

from collections.abc import Sequence

from vocadapt.report.table import Table
from vocadapt.report.text import flatten_text

MARKUP = str.maketrans({letter: f"\\{letter}" for letter in "\\`*_{}[]()<>#+!|~$&^"})


def write_markdown(tables: Sequence[Table]) -> str:
    """Return tables with their titles as headings, the best row in bold, and their notes."""
    return "\n".join(map(_write_table, tables))


def escape_markdown(text: str) -> str:
    """Escape text for Markdown, also within a table cell."""
    return flatten_text(text).translate(MARKUP)


def _write_table(table: Table) -> str:
    shown, best = table.shown, table.best_rows
    lines = [
        f"### {escape_markdown(table.title)}\n",
        _write_line([escape_markdown(column.label) for column in shown]),
        "|" + "|".join("---" if column.is_text else "--:" for column in shown) + "|",
    ]
    for place, row in enumerate(table.write_cells()):
        cells = [escape_markdown(cell) for cell in row]
        if place in best:
            cells = [f"**{cell}**" if cell else "" for cell in cells]
        lines.append(_write_line(cells))
    notes = [f"\n{escape_markdown(note)}" for note in table.notes]
    return "\n".join([*lines, *notes, ""])


def _write_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
