"""Tables as aligned text, for a terminal."""

from collections.abc import Sequence
from textwrap import fill

from vocadapt.report.table import Table
from vocadapt.text.display import escape_invisible

WIDTH = 100  # characters of a line of a note


def write_terminal(table: Table) -> str:
    """Return a table as aligned columns, with its title above and its notes below."""
    shown = table.shown
    cells = [[column.label for column in shown]]
    cells += [[escape_invisible(cell) for cell in row] for row in table.write_cells()]
    lines = align(cells, [column.is_text for column in shown])
    parts = [escape_invisible(table.title)] if table.title else []
    notes = [
        fill(escape_invisible(note), WIDTH, subsequent_indent="  ", break_long_words=False)
        for note in table.notes
    ]
    return "\n".join([*parts, lines, "", *notes]).rstrip()


def align(cells: Sequence[Sequence[str]], is_text: Sequence[bool]) -> str:
    """Return lines of cells as columns: texts to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    shapes = [f"{'<' if text else '>'}{width}" for text, width in zip(is_text, widths, strict=True)]
    return "\n".join("  ".join(map(format, line, shapes)).rstrip() for line in cells)
