"""Means over groups of tasks that a table declares: of our scores; and of the published cells, to check
the printed means.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from vocadapt.published.reader import ALL
from vocadapt.published.tables import PublishedTable
from vocadapt.training.scoring.summary import compute_group_means


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


def list_groups(table: PublishedTable) -> dict[str, tuple[str, ...]]:
    """Return the rows of each group of a table that it prints a mean of, in the order of the means.

    The group "all" has every row that is not a mean itself.
    """
    tasks = [row for row in table.rows if not row.mean_of]
    groups = {}
    for row in table.rows:
        if row.mean_of:
            group = row.mean_of
            members = [task.name for task in tasks if group in (ALL, *task.groups)]
            groups[group] = tuple(members)
    return groups


def compute_table_means(
    table: PublishedTable,
    scores: Mapping[str, float],
    collapsed: Mapping[str, int] | None = None,
) -> dict[str, dict[str, float | int | None]]:
    """Average our scores, by row, over the groups of a table; each with the numbers of scored and
    of all tasks, and of collapsed runs, which are included.
    """
    return compute_group_means(scores, list_groups(table), collapsed)


def list_left_out(table: PublishedTable, mean: str, column: str) -> tuple[str, ...]:
    """Return the rows that the mean of a row and column leaves out, as the table declares."""
    return tuple(
        row
        for left in table.leaves_out
        if mean in left.means and column in left.columns
        for row in left.rows
    )


def check_means(
    table: PublishedTable, with_left_out: bool = False, without_collapsed: bool = False
) -> tuple[MeanCheck, ...]:
    """Recompute every printed mean of a table from its cells.

    with_left_out: average also the rows that the table declares to be left out.
    without_collapsed: leave out runs that are reported as failed.
    """
    groups = list_groups(table)
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
