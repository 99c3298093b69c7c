"""Confusion matrix of a run, and the examples of the selected cell."""

from collections.abc import Sequence

import streamlit as st

from vocadapt.analysis.errors.confusion import Case, ConfusionMatrix, build_confusion_matrix
from vocadapt.analysis.results.fair_pairs import Side
from vocadapt.training.examples.examples import Example
from vocadapt.training.tasks.kinds import TaskKind
from vocadapt.training.tasks.kinds.judgment import NO_LABEL
from vocadapt.ui.components import mistakes, word_links
from vocadapt.ui.components.blocks import draw_heading, draw_link, draw_note, draw_table
from vocadapt.ui.components.pickers import (
    ChosenRun,
    label_runs,
    list_runs_to_pick,
    pick_name,
    pick_named,
)
from vocadapt.ui.parts.errors.comparable import find_baseline_name
from vocadapt.ui.parts.errors.filters import format_cell
from vocadapt.ui.state.address import workspace
from vocadapt.ui.text.markup import (
    MAX_UPRIGHT_COLUMNS,
    HeatCell,
    draw_heat_map,
    escape_invisible,
    plain,
)
from vocadapt.ui.text.number_formats import count, percent

CELL = "results_cell"  # the picker's key, and its name in the address
RUN_HELP = (
    "Selects a run: one model fine-tuned on a task with one seed. Pooled: both tokenizations"
    " combined."
)
MAX_CLASSES = 40  # in the matrix: more would be slow to draw and hard to read


@st.fragment
def draw_confusion(task: str, baseline: Side | None = None, first: str = "") -> None:
    """Draw the confusion matrix of a run and all examples of the selected cell; a click on a cell
    selects it and reruns only this fragment.

    baseline: the run and tokenization to compare the examples with in the error analysis. first:
    name of the run that is selected at first.
    """
    draw_heading("Confusion matrix")
    with st.container(key="va_stacked_confusion"):
        left, right = st.columns([1, 1.6], gap="large")
    with left:
        runs = {one.name: one for one in list_runs_to_pick(workspace(), task, True)}
        chosen = pick_named(
            "Run",
            "results_confused",
            runs,
            first,
            placeholder="There is no run yet",
            help=RUN_HELP,
            labels=label_runs(workspace(), runs),
        )
    if chosen is None or not chosen.tokenization:
        return
    if not chosen.run.kind.confusion_unit:
        right.markdown(":gray[Answers have no classes to confuse: see the page Error analysis.]")
        return
    with mistakes.show_errors():
        stamp = chosen.run_set.artifact.stamp if chosen.run_set.artifact else ""
        found = _confusion(str(chosen.run.folder), stamp, chosen.tokenization, chosen)
        if len(found.predicted) > MAX_UPRIGHT_COLUMNS:  # a wide matrix, with the examples below it
            left = st.container()
            right = st.container()
        with right:
            cell = _draw_cell(found, chosen, baseline)
        with left:
            _draw_matrix(found, cell)
        word_links.listen(CELL)


@st.cache_resource(max_entries=16, show_spinner=False)
def _confusion(folder: str, stamp: str, tokenization: str, _chosen: ChosenRun) -> ConfusionMatrix:
    predictions = _chosen.run.test_predictions
    return build_confusion_matrix(
        _chosen.run.kind,
        predictions.split.gold,
        predictions.predicted[tokenization],
        _chosen.run.rules.untyped,
    )


def _draw_matrix(found: ConfusionMatrix, selected: str) -> None:
    """Draw the matrix, with gold labels as rows and predicted labels as columns: the fraction of
    the row, and the count. If there are many classes, only the most confused are drawn.
    """
    # Fractions are always those of the whole rows.
    whole = found
    classes = len({*found.gold, *found.predicted})
    if classes > MAX_CLASSES:
        found = found.most_confused(MAX_CLASSES)
    totals = {gold: int(row.sum()) for gold, row in zip(whole.gold, whole.counts, strict=True)}
    rows = []
    for gold, counts in zip(found.gold, found.counts, strict=True):
        cells = []
        for predicted, n in zip(found.predicted, counts, strict=True):
            name = format_cell(gold, predicted)
            cells.append(_build_heat(int(n), totals[gold], name, name == selected))
        rows.append((gold, f"gold, {count(totals[gold])}", cells))
    if rows:
        label = "Confusion matrix: gold labels as rows, predicted labels as columns"
        draw_heat_map(
            list(found.predicted), rows, label, word_links.build_links(CELL), show=percent
        )
    draw_note(
        f"{count(int(whole.counts.sum()))} {found.unit}. **Rows: gold, columns: predicted.** Each"
        " cell: fraction of its row, and count; click one for its examples."
    )
    if classes > MAX_CLASSES:
        st.markdown(
            f":small[The {MAX_CLASSES} most confused of {count(classes)} classes. *Gold →"
            " predicted* lists all.]"
        )


def _build_heat(n: int, total: int, name: str, is_selected: bool) -> HeatCell:
    if not n:
        return HeatCell(None, count(n))
    return HeatCell(n / total, count(n), name, is_selected)


def _pick_cell(found: ConfusionMatrix) -> tuple[str, str] | None:
    """Show the picker of a cell with examples, by default the most frequent mistake that has a gold
    label; return its gold and predicted label, None if no cell has examples.
    """
    # Mistakes by frequency, then correct predictions.
    correct = sorted(cell for cell in found.cases if cell[0] == cell[1])
    cells = {format_cell(*cell): cell for cell in [*found.mistakes, *correct]}
    if not cells:
        st.markdown(
            "There is no confusion matrix: neither the gold labels nor the predictions contain a"
            " label."
        )
        return None
    first = next(
        (label for label, (gold, predicted) in cells.items() if NO_LABEL != gold != predicted),
        next(iter(cells)),
    )
    return cells.get(pick_name("Gold → predicted", list(cells), CELL, first))


def _draw_cell(found: ConfusionMatrix, chosen: ChosenRun, baseline: Side | None) -> str:
    """Draw the picker of a cell, the table of all its examples, and the link to the error analysis;
    return the name of the cell.
    """
    cell = _pick_cell(found)
    if cell is None:
        return ""
    gold, predicted = cell
    cases = found.cases[cell]
    examples = chosen.run.test_predictions.split.examples
    st.markdown(
        f"**{count(len(cases))}** {found.unit}: gold {plain(gold)}, predicted {plain(predicted)}."
        " All examples:"
    )
    rows = _rows(chosen.run.kind, cases, examples)
    config = {
        "example": st.column_config.Column(width=70),
        "document": st.column_config.TextColumn(width=80),
    }
    height = min(38 + 35 * len(cases), 380)
    draw_table(rows, key="cases", height=height, column_config=config)
    label = format_cell(gold, predicted)
    other = find_baseline_name(workspace(), chosen, baseline)
    if other:
        draw_link(
            "errors",
            "Compare these examples with the baseline",
            errors_baseline=other,
            errors_compared=chosen.name,
            errors_cell=label,
        )
    return label


def _rows(
    kind: TaskKind, cases: Sequence[Case], examples: Sequence[Example]
) -> dict[str, list[object]]:
    """Return the columns of the table, without those that are empty in every row."""
    described = [kind.describe_case(examples[case.example], case.start, case.end) for case in cases]
    columns: dict[str, list[object]] = {"example": [case.example + 1 for case in cases]}
    for name in described[0]:
        texts = [escape_invisible(texts_of[name]) for texts_of in described]
        if any(texts):
            columns[name] = list(texts)
    documents = [escape_invisible(examples[case.example].document) for case in cases]
    if any(documents):
        columns["document"] = list(documents)
    return columns
