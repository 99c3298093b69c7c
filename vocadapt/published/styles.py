"""Style of each cell, as Fast 2023 prints tables (section 6.2): best score bold, second best
underlined; decreases red and increases green, with a stronger color for a larger change.
"""

from dataclasses import dataclass

from vocadapt.published.tables import PublishedCell, PublishedTable

RED, GREEN = "red", "green"


@dataclass(frozen=True)
class CellStyle:
    """Style of a cell. color: RED, GREEN or ""; depth: of the color, above 0 up to 1."""

    bold: bool = False
    underlined: bool = False
    color: str = ""
    depth: float = 0.0


def style_cells(table: PublishedTable) -> dict[tuple[str, str], CellStyle]:
    """Return the style of each cell at hand, by row and column; plain for a table without ranks.
    The largest change of the table has the deepest color.
    """
    changes = [abs(cell.number or 0.0) for cell in table.cells if cell.facts.change_from]
    deepest = max(changes, default=0.0)
    styles = {}
    for row in table.row_names:
        cells = [cell for cell in table.cells if cell.row == row and cell.number is not None]
        ranks = _rank(cells) if table.ranked else {}
        for cell in cells:
            color, depth = _choose_color(cell, deepest)
            rank = ranks.get(cell.column)
            styles[row, cell.column] = CellStyle(rank == 0, rank == 1, color, depth)
    return styles


def _rank(cells: list[PublishedCell]) -> dict[str, int]:
    """Rank the cells of a row by column, 0 for the best; equal scores have the same rank.

    Only scores of one kind are compared: a change is ranked with the other changes against the same
    column, and that column itself as a change of 0. Figures of another kind are ranked apart.
    """
    # 1. Group the cells that are ranked together, with the value of each.
    bases = {cell.facts.change_from for cell in cells} - {""}
    entries: dict[tuple[str, str], dict[str, float]] = {}
    for cell in cells:
        base = cell.column if cell.column in bases else cell.facts.change_from
        value = 0.0 if cell.column in bases else float(cell.number or 0.0)
        entries.setdefault((base, cell.facts.figure), {})[cell.column] = value

    # 2. Rank each group of at least two.
    ranks: dict[str, int] = {}
    for group in entries.values():
        if len(group) < 2:
            continue
        order = sorted(set(group.values()), reverse=True)
        ranks |= {column: order.index(value) for column, value in group.items()}
    return ranks


def _choose_color(cell: PublishedCell, deepest: float) -> tuple[str, float]:
    """Return the color of a change and its depth; no color for anything else, and for 0."""
    change = cell.number or 0.0
    if not cell.facts.change_from or not change or not deepest:
        return "", 0.0
    return (GREEN if change > 0 else RED), min(abs(change) / deepest, 1.0)
