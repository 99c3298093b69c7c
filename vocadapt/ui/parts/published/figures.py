"""Figures of a published table: those of its publication, and the means over groups of tasks.

Only values at hand, published or imported, are drawn.
"""

from collections.abc import Mapping

import streamlit as st

from vocadapt.analysis.figures.published import (
    DiscMark,
    GapMark,
    plot_discs,
    plot_gap_coverage,
    plot_group_means,
    plot_score_curves,
)
from vocadapt.published.coverage import MeanCoverage, compute_gaps
from vocadapt.published.model_sizes import list_curves, list_discs
from vocadapt.published.tables import PLOTS, PublishedTable
from vocadapt.ui.components.blocks import draw_figure, draw_heading, draw_note
from vocadapt.ui.text.number_formats import count, percent

LINES = {  # plot with lines → title of its axis
    "module sizes": "size of the module, % of a layer",
    "hours": "hours of pretraining on four V100",
    "epochs": "epochs",
}
SEED = ", seed "  # between model and seed in the name of a line


def draw_plot(table: PublishedTable) -> None:
    """Draw the figure that the publication makes of a table; nothing for most tables."""
    if not table.plot:
        return
    title = PLOTS[table.plot]
    draw_heading(f"{title[:1].upper()}{title[1:]}")
    if all(not cell.at_hand for cell in table.cells):
        draw_note("The values are not at hand. They are drawn here once imported.")
    elif table.plot in LINES:
        _draw_lines(table)
    elif table.plot == "discs":
        _draw_discs(table)
    else:
        _draw_printed_fractions(table)


def draw_gaps(table: PublishedTable) -> None:
    """Draw which fraction of a gap a model covers, by task, with the mean of the fractions."""
    if not table.gaps:
        return
    draw_heading("Fraction of the gap that is covered")
    draw_note(
        "Fraction: (adapted model − BERT) / (BioBERT − BERT), in F1, with Fieller's interval. It is"
        " not defined if the gap is not larger than its noise. The mean is over the fractions."
    )
    found = compute_gaps(table)
    if not found:
        draw_note("The scores are not at hand. They are drawn here once imported.")
        return
    draw_chosen_gap(found, "published_gap")


def draw_chosen_gap(found: Mapping[str, MeanCoverage], key: str) -> None:
    """Draw the picker of a gap, its fractions by task, and their mean."""
    name = st.segmented_control(
        "Gap",
        list(found),
        default=next(iter(found)),
        required=True,
        key=key,
        help="Selects the two models that the gap is measured between.",
    )
    gap = found[str(name)]
    marks = [GapMark(task, one.fraction, one.low, one.high) for task, one in gap.tasks.items()]
    alt = "Fraction of the gap by task, with its interval."
    draw_figure(plot_gap_coverage(marks, gap.fraction), f"{key}_figure", alt)
    reasons = sorted({one.why for one in gap.tasks.values() if one.why})
    text = f"Defined for {count(gap.n_defined)} of {count(gap.n_tasks)} tasks."
    if gap.fraction is not None:
        text = f"Mean of the fractions: {percent(gap.fraction)} (dotted). {text}"
    draw_note(" ".join([text, *(f"{reason[:1].upper()}{reason[1:]}." for reason in reasons)]))


def draw_group_means(table: PublishedTable) -> None:
    """Draw the means over groups of tasks that a table prints; nothing for other tables."""
    groups = collect_group_means(table)
    if not groups:
        return
    draw_heading("Means over groups of tasks")
    unit = table.facts.unit or "points"
    title = f"mean, {unit}"
    if table.facts.change_from:
        title = f"mean change from {table.facts.change_from}, {unit}"
    alt = "Means over groups of tasks, a row for each model."
    draw_figure(plot_group_means(groups, title), f"published_{table.id}-means", alt)


def collect_group_means(table: PublishedTable) -> dict[str, dict[str, float]]:
    """Return row of a mean → column → value; without the base column if columns are changes."""
    changes = {cell.column for cell in table.cells if cell.facts.change_from}
    groups: dict[str, dict[str, float]] = {}
    for row in table.rows:
        if not row.mean_of:
            continue
        for column in table.column_names:
            cell = table.grid.get((row.name, column))
            if changes and column not in changes:
                continue
            if cell is not None and cell.number is not None:
                groups.setdefault(row.name, {})[column] = cell.number
    return groups


def _draw_lines(table: PublishedTable) -> None:
    """Draw a line for each model; of models with several seeds, those of one model."""
    curves = list_curves(table)
    if any(SEED in name for name in curves):
        models = list(dict.fromkeys(name.partition(SEED)[0] for name in curves))
        help = "Selects the model; each line is a seed."
        chosen = st.selectbox("Model", models, key="published_model", help=help)
        prefix = f"{chosen}{SEED}"
        curves = {
            name.removeprefix(prefix): points
            for name, points in curves.items()
            if name.startswith(prefix)
        }
    alt = f"{PLOTS[table.plot]}, from the values of the table."
    draw_figure(plot_score_curves(curves, LINES[table.plot]), f"published_{table.id}-lines", alt)


def _draw_discs(table: PublishedTable) -> None:
    """Draw a disc for each model, as large as its number of parameters."""
    discs = list_discs(table)
    marks = [DiscMark(one.name, one.hours, one.score, one.diameter) for one in discs]
    alt = "F1 by hours of pretraining; the area of a disc is the number of parameters."
    draw_figure(plot_discs(marks), f"published_{table.id}-discs", alt)
    draw_note(
        "The area of a disc is proportional to the parameters of its model"
        f" ({min(one.parameters for one in discs):.0f} to"
        f" {max(one.parameters for one in discs):.0f} million). Hours are converted: a core of a"
        " TPU counts as two V100."
    )


def _draw_printed_fractions(table: PublishedTable) -> None:
    marks = [
        GapMark(f"{cell.row}, {cell.column}", cell.number / 100)
        for cell in table.cells
        if cell.number is not None
    ]
    alt = "Published fractions of the gap."
    draw_figure(plot_gap_coverage(marks), f"published_{table.id}-fractions", alt)
    draw_note("As published, without intervals.")
