"""CO2 of published computations by Strubell's formula, next to the printed values (Poerner et al.
2020, table of costs).
"""

from dataclasses import dataclass

from vocadapt.published.tables import PublishedTable
from vocadapt.system.footprint import compute_strubell

POWER, TIME, CO2 = "power", "time", "CO2"  # columns of such a table: W, hours, lbs


@dataclass(frozen=True)
class FormulaRow:
    """A row of a table of costs: kWh and lbs of CO2 by the formula, and the printed or imported
    lbs, None if they are not at hand. fraction: lbs in proportion to those of the first row.
    """

    row: str
    kwh: float
    lbs: float
    lbs_published: float | None
    fraction: float


def has_costs(table: PublishedTable) -> bool:
    """Return whether a table has the columns that the formula reads and gives."""
    return {POWER, TIME, CO2} <= set(table.column_names)


def apply_strubell(table: PublishedTable) -> tuple[FormulaRow, ...]:
    """Return the rows of a table of costs, such as poerner-cost, with the formula applied; without
    those whose power or time is not at hand.

    Example: 1505 W for 240 hours are 571 kWh and 544 lbs; 1560 W for 12 hours are 28 lbs, 5 % of
    it.
    """
    rows: list[FormulaRow] = []
    for name in table.row_names:
        watts, hours = (table.find_cell(name, column).number for column in (POWER, TIME))
        published = table.find_cell(name, CO2).number
        if watts and hours:
            kwh, lbs = compute_strubell(watts, hours)
            first = rows[0].lbs if rows else lbs
            rows.append(FormulaRow(name, kwh, lbs, published, lbs / first))
    return tuple(rows)
