"""Blocks of a page, each drawn alike on every page: figure, table, note, metric, command, link, and
Details & export, the folded block at the end of every page with settings, command and data.
"""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import streamlit as st

from vocadapt.lab.steps.command_lines import PROGRAM, build_artifact_command
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.text.spreadsheet import format_tsv
from vocadapt.ui.frame.address import here

Download = Callable[[], str | bytes]


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


def draw_metrics(*metrics: tuple[str | None, ...], places: Sequence[Any] = ()) -> None:
    """Draw metrics, each given by its label, value, note and help, in columns of equal width.

    places: containers to draw them in instead, one for each.
    """
    for place, metric in zip(places or st.columns(len(metrics)), metrics, strict=True):
        draw_metric(place, *metric)  # type: ignore[arg-type]


def draw_command(command: str | Sequence[str], title: str = "") -> None:
    """Draw a shell command, or the program with these arguments, with its copy button.

    title: a line above it, in Markdown.
    """
    if title:
        st.markdown(title)
    if not isinstance(command, str):
        command = shlex.join([*PROGRAM, *command])
    st.code(command, language="bash", wrap_lines=True)


def draw_link(page: str, label: str, place: Any = st, **query: str) -> None:
    """Draw a link to another page, with query parameters, in the same workspace."""
    query |= here()
    place.page_link(page, label=label, icon=":material/arrow_forward:", query_params=query)


def draw_json(value: object, title: str, place: Any = st) -> None:
    """Draw a value as JSON, below a title, on the page or in a column."""
    place.markdown(title)
    place.code(json.dumps(value, indent=1, ensure_ascii=False, default=str), language="json")


def draw_table(data: Any, **options: Any) -> Any:
    """Draw a table without an index column; options and result are those of `st.dataframe`."""
    return st.dataframe(data, hide_index=True, **options)


def draw_artifact_details(
    artifact: Artifact, downloads: Mapping[str, Download] | None = None
) -> None:
    """Draw the folded block; `downloads` maps file names to functions that create the content on
    click.
    """
    manifest = artifact.manifest
    with open_details():
        if manifest.command:
            draw_command(build_artifact_command(artifact), "The same step in a terminal")
        st.markdown("Folder")
        st.code(str(artifact.folder), language=None, wrap_lines=True)
        left, right = st.columns(2)
        draw_json(manifest.settings, "Settings", left)
        figures = {
            "figures": manifest.numbers,
            "versions": manifest.versions,
            "made": manifest.created,
        }
        draw_json(figures, "Figures and versions", right)
        path = artifact.folder / "manifest.json"
        draw_downloads({"manifest.json": path.read_bytes, **(downloads or {})})


@contextmanager
def open_details() -> Iterator[None]:
    """Open the folded block at the end of a page, for commands, explanations and downloads."""
    with st.expander("Details & export", icon=":material/data_object:"):
        yield


def draw_downloads(files: Mapping[str, Download | str | bytes], suffix: str = "") -> None:
    """Draw a row of download buttons, from file names to contents or to functions that create the
    content on click.

    suffix: of the widgets' keys, where a page offers files of one name several times.
    """
    with st.container(horizontal=True):
        for name, content in files.items():
            st.download_button(
                name,
                content,
                name,
                on_click="ignore",
                icon=":material/download:",
                key=f"get_{name}{suffix}",
            )


def tsv(header: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """Format a table as TSV for spreadsheets."""
    return format_tsv([header, *rows])
