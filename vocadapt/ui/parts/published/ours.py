"""Our scores beside those of a published table: difference, or why they are not comparable."""

from collections.abc import Sequence

import streamlit as st

from vocadapt.lab.results.published_scores import match_scores, read_own_scores
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.published.comparison import Comparison, build_comparison_table, compare
from vocadapt.published.tables import PublishedCell, PublishedTable
from vocadapt.training.tasks.benchmarks import cards
from vocadapt.ui.components.blocks import draw_heading, draw_link, draw_note
from vocadapt.ui.components.tables import draw_report
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
            "No run of this workspace has a benchmark, model and recipe of this table. Download one"
            " of its benchmarks, then fine-tune its models on it."
        )
        draw_link("finetune", "Fine-tune a model")
        return
    pairs = [(table.grid[place], one) for place, own in matched.items() for one in own]
    draw_compared([(cell, one.run, compare(cell, one.score)) for cell, one in pairs])


def draw_compared(compared: Sequence[tuple[PublishedCell, str, Comparison]]) -> None:
    """Draw published and own values. compared: cell, name of our run ("" for none), comparison."""
    draw_report(build_comparison_table(compared[:MAX_SHOWN]))
    if len(compared) > MAX_SHOWN:
        draw_note(f"{count(MAX_SHOWN)} of {count(len(compared))} comparisons are shown.")
    st.caption("Ours: mean ± sd over seeds, in the unit of the table.")
