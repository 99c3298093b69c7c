"""Our scores beside those of a published table: difference, or why they are not comparable."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from vocadapt.lab.results.published_scores import match_scores, read_own_scores
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.published.comparison import Comparison, compare
from vocadapt.published.tables import PublishedCell, PublishedTable, Value
from vocadapt.training.tasks.benchmarks import cards
from vocadapt.ui.components.blocks import draw_heading, draw_link, draw_note, draw_table
from vocadapt.ui.state import cache
from vocadapt.ui.text.number_formats import count

MAX_SHOWN = 200  # comparisons


def draw_comparison(table: PublishedTable, workspace: Workspace) -> None:
    """Draw published and own values with their difference, or how to get own values."""
    draw_heading("Our scores")
    benchmarks = {cell.facts.data for cell in table.cells} & set(cards())
    if not benchmarks:
        draw_note(
            "No run of this workspace can be compared: the values of this table are not scores of a"
            " benchmark."
        )
        return
    scores = read_own_scores(cache.load_runs(workspace), workspace)
    matched = match_scores(table, scores)
    if not matched:
        draw_note(
            "No run of this workspace has a benchmark, model and recipe of this table. Download one of"
            " its benchmarks, then fine-tune its models on it."
        )
        draw_link("finetune", "Fine-tune a model")
        return
    pairs = [(table.grid[place], one) for place, own in matched.items() for one in own]
    draw_compared([(cell, one.run, compare(cell, one.score)) for cell, one in pairs])


def draw_compared(compared: Sequence[tuple[PublishedCell, str, Comparison]]) -> None:
    """Draw published and own values. compared: cell, name of our run ("" for none), comparison."""
    names = ("row", "column", "run", "published", "ours", "difference", "note")
    lines: dict[str, list[Any]] = {name: [] for name in names}
    for cell, run, one in compared[:MAX_SHOWN]:
        shown = (cell.row, cell.column, run, cell.format_value() or "–", format_ours(one, cell))
        values = (*shown, format_difference(one), one.why or one.remark)
        for name, value in zip(lines, values, strict=True):
            lines[name].append(value)
    if not any(lines["run"]):
        del lines["run"]
    draw_table(lines)
    if len(compared) > MAX_SHOWN:
        draw_note(f"{count(MAX_SHOWN)} of {count(len(compared))} comparisons are shown.")
    st.caption("Ours: mean ± sd over seeds, in the unit of the table.")


def format_ours(compared: Comparison, cell: PublishedCell) -> str:
    """Return our value as the table prints values, with its standard deviation over seeds."""
    text = _format_value(compared.ours, cell.decimals)
    if compared.sd is not None:
        text += f" ± {compared.sd:.{cell.decimals}f}"
    return text


def format_difference(compared: Comparison) -> str:
    """Return ours minus published, or for texts whether they are equal; "" if not comparable."""
    if compared.equal is not None and compared.is_comparable:
        return "equal" if compared.equal else "different"
    if compared.difference is None or not compared.is_comparable:
        return ""
    return f"{compared.difference:+.2f}".replace("-", "−")


def _format_value(value: Value | None, decimals: int) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.{decimals}f}"
