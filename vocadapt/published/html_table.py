"""A published table as HTML in the colors of Fast 2023: best bold, second underlined, a drop red and
a rise green, the deeper the larger.
"""

import html

from vocadapt.published.styles import GREEN, CellStyle, style_cells
from vocadapt.published.tables import PublishedTable

COLORS = {"red": "213, 94, 0", "green": "0, 158, 115"}  # red, green, blue of a full color
DEEPEST = 0.6  # opacity of the deepest color, so that the digits stay readable


def render_table(table: PublishedTable, largest: float | None = None) -> str:
    """Render a table as HTML; texts are escaped, and an empty cell has its reason as a tooltip.

    largest: the change with the deepest color, as in `style_cells`.
    """
    styles = style_cells(table, largest)
    header = "".join(f"<th>{html.escape(name)}</th>" for name in ("", *table.column_names))
    lines = [f"<tr>{header}</tr>"]
    for row in table.row_names:
        cells = [f"<th>{html.escape(row)}</th>"]
        for column in table.column_names:
            style = styles.get((row, column), CellStyle())
            cells.append(_render_cell(table, row, column, style))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _render_cell(table: PublishedTable, row: str, column: str, style: CellStyle) -> str:
    """Render a cell; a place without one is empty."""
    cell = table.grid.get((row, column))
    if cell is None:
        return "<td></td>"
    if not cell.at_hand:
        return f'<td title="{html.escape(cell.reason)}">–</td>'
    text = html.escape(cell.format_value())
    if cell.facts.change_from and style.color == GREEN:
        text = f"+{text}"  # the sign says without the color what rises
    if style.bold:
        text = f"<b>{text}</b>"
    if style.underlined:
        text = f"<u>{text}</u>"
    if not style.color:
        return f"<td>{text}</td>"
    color = f"rgba({COLORS[style.color]}, {DEEPEST * style.depth:.2f})"
    return f'<td style="background: {color}">{text}</td>'
