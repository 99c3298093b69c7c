"""Printed means of a table, recomputed from its printed cells."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from vocadapt.published.tables import PublishedTable

# Tables whose means of changes leave out the task HOC, although it belongs to the group.
LEAVING_OUT = ("fast-6.7", "fast-6.8")


@dataclass(frozen=True)
class MeanCheck:
    """A printed mean and the mean of the printed cells.

    recomputed: exact, not rounded. members: the rows that are averaged; left_out: rows of the
    group that are not. last_place: the unit of the last printed decimal.
    """

    row: str
    column: str
    printed: Decimal
    recomputed: Decimal
    members: tuple[str, ...]
    left_out: tuple[str, ...]
    last_place: Decimal

    @property
    def agrees(self) -> bool:
        """Whether the difference can come from rounding: the cells are rounded by up to half a unit
        of the last decimal, and so is the mean.
        """
        return abs(self.recomputed - self.printed) <= self.last_place

    @property
    def is_exact(self) -> bool:
        """Whether the recomputed mean, rounded, is the printed one."""
        return self.recomputed.quantize(self.last_place, ROUND_HALF_UP) == self.printed


def list_left_out(table: PublishedTable, mean: str, column: str) -> tuple[str, ...]:
    """Return the rows that the printed mean of a row and column leaves out."""
    if (
        table.id in LEAVING_OUT
        and mean in ("Mean (Classif.)", "Mean (all)")
        and column.endswith(" %")
    ):
        return ("HOC",)
    return ()


def check_means(
    table: PublishedTable, with_left_out: bool = False, without_collapsed: bool = False
) -> tuple[MeanCheck, ...]:
    """Recompute every printed mean of a table from its cells.

    with_left_out: average also the rows that the printed means leave out.
    without_collapsed: leave out runs that are reported as failed.
    """
    groups = table.groups
    last_place = Decimal(1).scaleb(-table.decimals)
    checks = []
    for mean in table.rows:
        if not mean.mean_of:
            continue
        for column in table.column_names:
            printed = table.grid[mean.name, column]
            left_out = set(() if with_left_out else list_left_out(table, mean.name, column))
            # Decimal: a binary fraction could round a printed .005 the wrong way.
            values = {}
            for row in groups[mean.mean_of]:
                cell = table.grid[row, column]
                dropped = row in left_out or (without_collapsed and cell.collapsed)
                if cell.at_hand and not dropped:
                    values[row] = Decimal(str(cell.value))
            if not printed.at_hand or not values:
                continue
            others = [row for row in groups[mean.mean_of] if row not in values]
            recomputed = sum(values.values()) / len(values)
            checks.append(
                MeanCheck(
                    mean.name,
                    column,
                    Decimal(str(printed.value)),
                    Decimal(recomputed),
                    tuple(values),
                    tuple(others),
                    last_place,
                )
            )
    return tuple(checks)
