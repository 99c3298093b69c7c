"""Tables with numbers formatted as everywhere else on the pages: 30 067, .235."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from vocadapt.report.formats import FORMATS, NONE
from vocadapt.report.table import Column, Table, read_value
from vocadapt.text.display import escape_invisible
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.text.number_formats import count, group_digits

if TYPE_CHECKING:
    import pandas as pd

MAX_STYLED = 10_000  # cells: formatting more would be slow
Formatter = Callable[[Any], str]


def draw_table(data: Any, formatters: Mapping[str, Formatter] | None = None, **options: Any) -> Any:
    """Draw a table without an index column; options and result are those of `st.dataframe`.

    formatters: column → how its numbers are written. Other columns of whole numbers have grouped
    digits, unless they have a type in `column_config`. The help of a column defines the glossary
    terms in its name.
    """
    import pandas as pd

    config = dict(options.pop("column_config", None) or {})
    if isinstance(data, Mapping):
        data = pd.DataFrame(data)
    if isinstance(data, pd.DataFrame):
        names = list(map(str, data.columns))
        data, config = _format_numbers(data, config, formatters or {})
        for name in names:
            given = config.get(name) or st.column_config.Column()
            if help := explain(name, given.get("help")):
                config[name] = {**given, "help": help}
    options = {"placeholder": NONE} | options
    return st.dataframe(data, hide_index=True, column_config=config, **options)


def draw_report(table: Table, key: str | None = None, **options: Any) -> Any:
    """Draw a table of a result: labels, help and formats are those of its columns; options and
    result are those of `st.dataframe`, whose `column_config` shows the numbers of a column in
    another way.
    """
    own = options.pop("column_config", {})
    shown = table.shown
    # Numbers stay numbers, by which the browser sorts; in a large table they are written as text.
    is_large = len(table.rows) * len(shown) > MAX_STYLED
    columns: dict[str, list[object]] = {}
    formatters: dict[str, Formatter] = {}
    for column in shown:
        if column.label in own or (column.is_number and not is_large):
            columns[column.label] = [read_value(row, column.name) for row in table.rows]
        else:
            cells = map(escape_invisible, map(column.write, table.rows))
            columns[column.label] = [*(cells if column.is_text else map(group_digits, cells))]
        if column.is_number and column.label not in own:
            formatters[column.label] = _build_formatter(column)
    config = {
        column.label: st.column_config.Column(
            help=column.help or None, alignment="left" if column.is_text else "right"
        )
        for column in shown
    }
    return draw_table(columns, formatters, key=key, column_config=config | own, **options)


def _build_formatter(column: Column) -> Formatter:
    """Return how the numbers of a column are written; a missing one is not a number here."""
    write_value = FORMATS[column.format]

    def write(value: Any) -> str:
        return group_digits(write_value(None if value != value else value)) or NONE

    return write


def draw_row_picker(
    table: Table,
    ids: Sequence[str],
    key: str,
    purpose: str,
    on_pick: Callable[[int], None] | None = None,
) -> int | None:
    """Draw a table of which a row can be selected, and how; return the place of the selected row.

    ids: one per row; if they change, no row is selected. purpose: what selecting a row is for.
    on_pick: called with the place instead, once for each selection.
    """
    st.markdown(
        f":small[:gray[Select a row to {purpose}: click its box, or press Shift + Space in it.]]"
    )
    key = f"{key}_{hash(tuple(ids))}"

    def find_selected() -> int | None:
        selected = st.session_state[key].selection.rows
        return selected[0] if selected and selected[0] < len(ids) else None

    def call() -> None:
        place = find_selected()
        if on_pick and place is not None:
            on_pick(place)

    draw_report(table, on_select=call, selection_mode="single-row", key=key)
    return find_selected()


def _format_numbers(
    frame: "pd.DataFrame", config: dict[str, Any], formatters: Mapping[str, Formatter]
) -> tuple[Any, dict[str, Any]]:
    """Return a table with formatted numbers, and the configuration of its columns.

    A large table is not formatted here: its whole numbers are grouped as in the language of the
    browser.
    """
    found: dict[Any, Any] = {}
    for name in frame.columns:
        if frame[name].dtype.kind not in "iuf":  # whole numbers and floating-point numbers
            continue
        if name in formatters:
            found[name] = formatters[name]
        elif not (config.get(name) or {}).get("type_config") and _is_whole(frame[name]):
            found[name] = _format_count
    if frame.size <= MAX_STYLED and frame.columns.is_unique and frame.index.is_unique:
        return frame.style.format(found), config
    grouped = {"type_config": {"type": "number", "format": "localized"}}
    changed = {
        name: {**(config.get(name) or st.column_config.Column()), **grouped}
        for name, formatter in found.items()
        if formatter is _format_count
    }
    return frame, {**config, **changed}


def _is_whole(column: "pd.Series[Any]") -> bool:
    """Return whether the numbers of a column that are not missing are whole."""
    values = column.to_numpy(dtype=float)
    values = values[np.isfinite(values)]
    return np.array_equal(values, np.round(values))


def _format_count(value: float) -> str:
    """Format a whole number; a dash if it is missing."""
    return count(round(value)) if np.isfinite(value) else NONE
