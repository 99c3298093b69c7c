"""The groups of tasks whose means a table prints."""

from vocadapt.published.reader import ALL
from vocadapt.published.tables import PublishedTable


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
