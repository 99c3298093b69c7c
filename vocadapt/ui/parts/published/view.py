"""Blocks about a published table: source, notes, values, empty cells and definitions."""

from collections import Counter
from collections.abc import Collection

import streamlit as st

from vocadapt.published.costs import apply_strubell, has_costs
from vocadapt.published.styles import GREEN, CellStyle, style_cells
from vocadapt.published.tables import KINDS, PublishedCell, PublishedTable
from vocadapt.system.footprint import STRUBELL_LBS_PER_KWH, STRUBELL_PUE
from vocadapt.ui.components import blocks
from vocadapt.ui.components.blocks import draw_heading, draw_note, draw_table
from vocadapt.ui.text import markup
from vocadapt.ui.text.markup import PublishedMark, plain
from vocadapt.ui.text.number_formats import count, percent

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
    rows = []
    for row in table.row_names:
        cells = [table.grid.get((row, column)) for column in table.column_names]
        marks = [
            build_mark(cell, styles.get((cell.row, cell.column))) if cell else None
            for cell in cells
        ]
        rows.append((row, marks))
    markup.draw_published_table(table.column_names, rows, format_title(table))
    draw_note(describe_styles(table, styles.values()))


def build_mark(cell: PublishedCell, style: CellStyle | None) -> PublishedMark:
    """Build the mark of a cell; its tooltip has the definition, source and reason."""
    style = style or CellStyle()
    text = cell.format_value() or "–"
    if cell.facts.change_from and (cell.number or 0) > 0:
        text = f"+{text}"
    note = ""
    if cell.collapsed:
        note = "failed run"
    if cell.imported:
        note = "imported"
    fill = ""
    if style.color:
        rgb = INCREASE if style.color == GREEN else DECREASE
        fill = f"rgb({rgb} / {MAX_OPACITY * style.depth:.2f})"
    title = describe_cell(cell)
    return PublishedMark(
        text.replace("-", "−") if cell.number is not None else text,
        title,
        style.bold,
        style.underlined,
        fill,
        note,
    )


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


def describe_styles(table: PublishedTable, styles: Collection[CellStyle]) -> str:
    """Describe the styles of cells that occur in a table."""
    parts = []
    if any(style.bold for style in styles):
        parts.append("Bold: best of its row; underlined: second best.")
    if any(style.color for style in styles):
        parts.append("Green: increase; red: decrease; a stronger color is a larger change.")
    if table.empty:
        parts.append("–: the value is not at hand.")
    parts.append("The tooltip of a cell has its data, split, scorer and base model.")
    return " ".join(parts)


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
    with blocks.open_details():
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
        blocks.draw_downloads({f"{table.id}.tsv": blocks.tsv(header, list(rows))})
