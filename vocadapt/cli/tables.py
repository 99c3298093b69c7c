"""Text of answers without a `report.table.Table`, which `report.terminal` writes: aligned columns,
three significant digits.
"""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import Any

from vocadapt.report.terminal import align
from vocadapt.text.display import format_number

__all__ = ["describe_kind", "format_facts", "format_number", "format_table"]


def format_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Format rows as aligned columns under a header; numbers are right-aligned."""
    body = list(rows)
    cells = [list(header), *([format_number(value) for value in row] for row in body)]
    # All values of a column are of one kind, so the first row decides.
    is_text = [not body or isinstance(body[0][column], str) for column in range(len(header))]
    return align(cells, is_text)


def format_facts(values: Mapping[str, Any]) -> str:
    """Format values as lines, names first, without None; lists and mappings are shown elsewhere."""
    elsewhere = (type(None), list, tuple, Mapping)
    single = {name: value for name, value in values.items() if not isinstance(value, elsewhere)}
    width = max(map(len, single), default=0)
    return "\n".join(f"{name:<{width}}  {format_number(value)}" for name, value in single.items())


def describe_kind(name: str, text: str) -> str:
    """Format a kind of task for a help text: its name, followed by a wrapped text."""
    return fill(
        text,
        width=120,
        initial_indent=f"  {name:<16}",
        subsequent_indent=" " * 18,
        break_on_hyphens=False,
    )
