"""Blocks of a page: figure, table, note, metric and command, each drawn alike on every page."""

from typing import Any

import streamlit as st


def draw_figure(figure: Any, key: str) -> None:
    """Draw a plotly figure without its toolbar."""
    st.plotly_chart(figure, key=key, config={"displayModeBar": False})


def draw_note(text: str, place: Any = st) -> None:
    """Draw a small gray note (Markdown) on the page or in a column."""
    place.markdown(f":small[:gray[{text}]]")


def draw_metric(
    place: Any, label: str, value: str, note: str | None = None, help: str | None = None
) -> None:
    """Draw a metric with a note under its value; the note has neither color nor arrow."""
    place.metric(label, value, note, delta_color="off", delta_arrow="off", help=help)


def draw_command(command: str) -> None:
    """Draw a shell command with its copy button."""
    st.code(command, language="bash", wrap_lines=True)


def draw_table(data: Any, **options: Any) -> Any:
    """Draw a table without an index column; options and result are those of `st.dataframe`."""
    return st.dataframe(data, hide_index=True, **options)
