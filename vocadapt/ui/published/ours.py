"""Our scores beside those of a published table: difference, or why they are not comparable."""

from typing import Any

import streamlit as st

from vocadapt.lab.artifacts.published_scores import match_scores, read_own_scores
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.published.comparison import Comparison, compare
from vocadapt.published.tables import PublishedCell, PublishedTable, Value
from vocadapt.training.tasks.benchmarks import cards
from vocadapt.ui.components.blocks import draw_heading, draw_link, draw_note, draw_table
from vocadapt.ui.components.number_formats import count
from vocadapt.ui.frame import cache

MAX_SHOWN = 200  # comparisons


def draw_comparison(table: PublishedTable, workspace: Workspace) -> None:
    """Draw published and own values with their difference, or what own values need."""
    draw_heading("Ours")
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
            "No run of this workspace is of a benchmark, a model and a recipe of this table. Download"
            " one of its benchmarks, then fine-tune its models on it."
        )
        draw_link("finetune", "Fine-tune a model")
        return
    lines: dict[str, list[Any]] = {
        name: [] for name in ("row", "column", "run", "published", "ours", "difference", "why not")
    }
    pairs = [(table.grid[place], one) for place, own in matched.items() for one in own]
    for cell, one in pairs[:MAX_SHOWN]:
        compared = compare(cell, one.score)
        shown = (cell.row, cell.column, one.run, cell.format_value() or "–")
        shown_ours = format_ours(compared, cell)
        for name, value in zip(
            lines,
            (*shown, shown_ours, format_difference(compared), compared.why),
            strict=True,
        ):
            lines[name].append(value)
    draw_table(lines)
    if len(pairs) > MAX_SHOWN:
        draw_note(f"{count(MAX_SHOWN)} of {count(len(pairs))} comparisons are shown.")
    st.caption("Ours: mean ± sd over seeds, in the unit of the table.")


def format_ours(compared: Comparison, cell: PublishedCell) -> str:
    """Return our value as the table prints values, with its standard deviation over seeds."""
    text = _format_value(compared.ours, cell.decimals)
    if compared.sd is not None:
        text += f" ± {compared.sd:.{cell.decimals}f}"
    return text


def format_difference(compared: Comparison) -> str:
    """Return ours less published; "" if they are not comparable."""
    if compared.difference is None or not compared.is_comparable:
        return ""
    return f"{compared.difference:+.2f}".replace("-", "−")


def _format_value(value: Value | None, decimals: int) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.{decimals}f}"
