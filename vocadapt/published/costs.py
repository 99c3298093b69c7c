"""CO2 of published computations by Strubell's formula, next to the printed values (Poerner et al.
2020, table of costs).
"""

from dataclasses import dataclass

from vocadapt.published.tables import PublishedTable
from vocadapt.system.footprint import compute_strubell

POWER, TIME, CO2 = "power", "time", "CO2"  # columns of such a table: W, hours, lbs
NOT_AT_HAND = "power and time are not at hand"


@dataclass(frozen=True)
class FormulaRow:
    """A row of a table of costs: kWh and lbs of CO2 by the formula, and the printed or imported
    lbs.

    computed values are None, with the reason, if power or time is not at hand; lbs_published is
    None if no value is at hand. fraction: lbs in proportion to those of the first row that has
    them.
    """

    row: str
    kwh: float | None
    lbs: float | None
    lbs_published: float | None
    fraction: float | None
    reason: str = ""


def has_costs(table: PublishedTable) -> bool:
    """Return whether a table has the columns that the formula reads and gives."""
    return {POWER, TIME, CO2} <= set(table.column_names)


def apply_strubell(table: PublishedTable) -> tuple[FormulaRow, ...]:
    """Return the rows of a table of costs, such as poerner-cost, with the formula applied.

    Example: 1505 W for 240 hours are 571 kWh and 544 lbs; 1560 W for 12 hours are 28 lbs, 5 % of
    it.
    """
    rows: list[FormulaRow] = []
    first: float | None = None
    for name in table.row_names:
        watts, hours = (table.find_cell(name, column).number for column in (POWER, TIME))
        published = table.find_cell(name, CO2).number
        if watts is None or hours is None:
            rows.append(FormulaRow(name, None, None, published, None, NOT_AT_HAND))
            continue
        kwh, lbs = compute_strubell(watts, hours)
        first = first or lbs
        fraction = lbs / first if first else None
        rows.append(FormulaRow(name, kwh, lbs, published, fraction))
    return tuple(rows)
