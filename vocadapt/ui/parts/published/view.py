"""Blocks about a published table: source, notes, values, empty cells, definitions, and our scores."""

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from vocadapt.lab.results.published_scores import match_scores, read_own_scores
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.published.comparison import Comparison, build_comparison_table, compare
from vocadapt.published.costs import apply_strubell, has_costs
from vocadapt.published.styles import GREEN, CellStyle, style_cells
from vocadapt.published.tables import KINDS, PublishedCell, PublishedTable
from vocadapt.system.footprint import STRUBELL_LBS_PER_KWH, STRUBELL_PUE
from vocadapt.training.tasks.benchmarks import cards
from vocadapt.ui.components.blocks import (
    draw_downloads,
    draw_heading,
    draw_link,
    draw_note,
    draw_table,
    open_details,
    tsv,
)
from vocadapt.ui.components.tables import draw_report
from vocadapt.ui.state import cache
from vocadapt.ui.text.markup import PublishedMark, draw_published_table, plain
from vocadapt.ui.text.number_formats import count, percent

MAX_SHOWN = 200  # comparisons
STYLES = (
    "Bold: best of its row; underlined: second best. Green: increase; red: decrease; a stronger color"
    " is a larger change. –: the value is not at hand. The tooltip of a cell has its data, split,"
    " scorer and base model."
)
# The colors of an increase and a decrease, as red, green and blue; the depth is their opacity.
INCREASE, DECREASE = "0 158 115", "204 60 60"
MAX_OPACITY = 0.45  # opacity of the largest change: a higher one makes its text hard to read


def format_title(table: PublishedTable) -> str:
    """Return the name of a table in the picker: publication, title and number."""
    return f"{table.source.citation}: {table.title} · {table.where}"


def draw_source(table: PublishedTable) -> None:
    """Draw title, source and kind of a table, and notes that help to read it correctly."""
    source = table.source
    draw_heading(table.title)
    authors = ", ".join(source.authors)
    year = f" {source.year}" if source.year else ""
    st.markdown(
        f":material/menu_book: {plain(authors)}{year}: *{plain(source.title)}*,"
        f" {plain(source.venue)} · {plain(table.where)}"
    )
    draw_note(f"This is {KINDS[table.kind]}.")
    if table.notes:
        notes = "\n".join(f"- {plain(note)}" for note in table.notes)
        st.info(f"**Read with care**\n\n{notes}", icon=":material/info:")


def draw_values(table: PublishedTable) -> None:
    """Draw the values as published: best bold, second underlined, changes red or green."""
    styles = style_cells(table)
    marks = {place: build_mark(cell, styles.get(place)) for place, cell in table.grid.items()}
    rows = [
        (row, [marks.get((row, column)) for column in table.column_names])
        for row in table.row_names
    ]
    draw_published_table(table.column_names, rows, format_title(table))
    draw_note(STYLES)


def build_mark(cell: PublishedCell, style: CellStyle | None) -> PublishedMark:
    """Build the mark of a cell; its tooltip has the definition, source and reason."""
    style = style or CellStyle()
    text = cell.format_value() or "–"
    if cell.facts.change_from and (cell.number or 0) > 0:
        text = f"+{text}"
    if cell.number is not None:
        text = text.replace("-", "−")
    note = "failed run" if cell.collapsed else ""
    if cell.imported:
        note = "imported"
    fill = ""
    if style.color:
        rgb = INCREASE if style.color == GREEN else DECREASE
        fill = f"rgb({rgb} / {MAX_OPACITY * style.depth:.2f})"
    return PublishedMark(text, describe_cell(cell), style.bold, style.underlined, fill, note)


def describe_cell(cell: PublishedCell) -> str:
    """Describe a cell in its tooltip: place, unit, definition, data, note and reason."""
    facts = cell.facts
    parts = [f"{cell.row} · {cell.column}"]
    if facts.unit and cell.number is not None:
        parts.append(f"unit: {facts.unit}")
    if facts.change_from:
        parts.append(f"change from {facts.change_from}")
    named = {"data": facts.data, "split": facts.split, "scorer": facts.scorer}
    named |= {"base model": facts.base_model, "recipe": facts.recipe}
    parts += [f"{name}: {value}" for name, value in named.items() if value]
    parts += filter(None, (facts.note, cell.imported))
    if cell.reason:
        parts.append(f"not at hand: {cell.reason}")
    return "\n".join(parts)


def draw_costs(table: PublishedTable) -> None:
    """Draw the CO2 of a table of costs by Strubell's formula; nothing for other tables."""
    if not has_costs(table):
        return
    draw_heading("CO2 by Strubell's formula")
    rows = apply_strubell(table)
    if rows:
        draw_table(
            {
                "row": [row.row for row in rows],
                "kWh": [row.kwh for row in rows],
                "lbs CO2": [row.lbs for row in rows],
                "lbs CO2, published": [row.lbs_published for row in rows],
                "relative to first row": [percent(row.fraction) for row in rows],
            }
        )
    draw_note(
        f"kWh = {STRUBELL_PUE} (PUE) × W × hours / 1000, and {STRUBELL_LBS_PER_KWH} lbs of CO2 per"
        f" kWh (Strubell et al. 2019). Power and time are at hand for {count(len(rows))} of"
        f" {count(len(table.rows))} rows."
    )


def draw_empty_cells(table: PublishedTable) -> None:
    """Draw how many values are not at hand, and why."""
    if not table.empty:
        return
    draw_heading("Values not at hand")
    st.markdown(
        f"**{count(len(table.empty))} of {count(len(table.cells))}** values are not at hand. No"
        " value is filled in from memory or estimated from a figure."
    )
    reasons = Counter(cell.reason for cell in table.empty)
    for reason, number in reasons.most_common():
        st.markdown(f"- {count(number)}: {plain(reason)}")


def draw_definitions(table: PublishedTable) -> None:
    """Draw the definitions of the values, the study that produces them, and the download."""
    with open_details():
        st.markdown(f"**What produces the table:** {plain(table.study)}")
        definitions = Counter(cell.facts.definition for cell in table.cells)
        for text, number in definitions.most_common():
            if text:
                st.markdown(f"- {plain(text)} ({count(number)} of {count(len(table.cells))} cells)")
        header = ("row", "column", "value", "unit", "data", "scorer", "base model", "recipe")
        rows = []
        for cell in table.cells:
            facts = cell.facts
            place = (cell.row, cell.column, cell.format_value(), facts.unit)
            rows.append((*place, facts.data, facts.scorer, facts.base_model, facts.recipe))
        draw_downloads({f"{table.id}.tsv": tsv(header, list(rows))})


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
