"""Blocks that look the same on every page: figure, table, note, metric, command, link, and the
expander Details & export at the end of a page, with settings, command and data.
"""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import streamlit as st

from vocadapt.lab.steps.command_lines import PROGRAM, build_artifact_command
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.system import json_values
from vocadapt.text.spreadsheet import format_tsv
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.tables import draw_table as draw_table  # the pages take it from here
from vocadapt.ui.state import paths
from vocadapt.ui.state.address import here
from vocadapt.ui.state.pages import QueryValue, find_link
from vocadapt.ui.text.markup import format_sentence
from vocadapt.ui.text.number_formats import count

Download = Callable[[], str | bytes]


def draw_figure(figure: Any, key: str, alt: str) -> None:
    """Draw a plotly figure without its toolbar; `alt` describes it to those who cannot see it."""
    st.plotly_chart(figure, key=key, config={"displayModeBar": False}, alt=alt)


def draw_heading(title: str, place: Any = st, **options: Any) -> None:
    """Draw the heading of a block, on the level below the title of the page; its help defines the
    glossary terms in the title.

    options: other arguments of `st.header`.
    """
    place.header(title, help=explain(title), **options)


def draw_note(text: str, place: Any = st, help: str | None = None) -> None:
    """Draw a small gray note (Markdown) on the page or in a column."""
    place.markdown(f":small[:gray[{text}]]", help=help)


def draw_unknown_words(number: int) -> None:
    """Draw how many more words become unknown by a change of the vocabulary; nothing for none."""
    if number:
        st.markdown(f":violet[Words of the measured lines that become unknown: {count(number)}]")


def draw_task_remark(about: str) -> None:
    """Draw the remark on a task by its author, where a score of the task is shown: "constructed".

    about: "" if there is none.
    """
    if about:
        st.markdown(f":material/info: **About this task: {format_sentence(about)}.**")


def draw_metric(
    place: Any, label: str, value: str, note: str | None = None, help: str | None = None
) -> None:
    """Draw a metric with a note below its value, without color or arrow; its help defines the
    glossary terms in the label.
    """
    place.metric(
        label, value, note, delta_color="off", delta_arrow="off", help=explain(label, help)
    )


def draw_metrics(*metrics: tuple[str | None, ...], places: Sequence[Any] = ()) -> None:
    """Draw metrics (label, value, note, help) side by side, in columns of equal width.

    places: containers to use instead of these columns, one for each metric.
    """
    for place, metric in zip(places or st.columns(len(metrics)), metrics, strict=True):
        draw_metric(place, *metric)  # type: ignore[arg-type]


def draw_command(command: str | Sequence[str], title: str = "") -> None:
    """Draw a shell command with a copy button.

    command: the command line, or the program's arguments. title: a line above it, in Markdown.
    """
    if title:
        st.markdown(title)
    if not isinstance(command, str):
        command = shlex.join([*PROGRAM, *command])
    draw_code(command, "bash")


def draw_code(code: str, language: str | None = None) -> None:
    """Draw code or paths with a copy button; visitors see no folders of the server in it."""
    st.code(paths.hide_server_paths(code), language=language, wrap_lines=True)


def draw_link(
    part: str,
    label: str,
    place: Any = st,
    icon: str = ":material/arrow_forward:",
    **query: QueryValue,
) -> None:
    """Draw a link to a part of the lab (`state.pages`), with query parameters, in the same
    workspace.
    """
    page, parameters = find_link(part, **query)
    place.page_link(page, label=label, icon=icon, query_params=parameters | here())


def draw_json(value: object, title: str, place: Any = st) -> None:
    """Draw a value as JSON, below a title, on the page or in a column."""
    place.markdown(title)
    text = json.dumps(json_values.plain(value), indent=1, ensure_ascii=False)
    place.code(text, language="json")


def draw_artifact_details(
    artifact: Artifact, downloads: Mapping[str, Download] | None = None
) -> None:
    """Draw the expander Details & export of an artifact.

    downloads: file name -> function that creates the content on click.
    """
    manifest = artifact.manifest
    with open_details():
        if manifest.command:
            draw_command(build_artifact_command(artifact), "The same step in a terminal")
        st.markdown("Folder")
        draw_code(str(artifact.folder))
        left, right = st.columns(2)
        draw_json(manifest.settings, "Settings", left)
        figures = {
            "figures": manifest.numbers,
            "versions": manifest.versions,
            "created": manifest.created,
        }
        draw_json(figures, "Figures and versions", right)
        path = artifact.folder / "manifest.json"
        draw_downloads({"manifest.json": path.read_bytes, **(downloads or {})})


@contextmanager
def open_details() -> Iterator[None]:
    """Open the expander Details & export, for commands, explanations and downloads."""
    with st.expander("Details & export", icon=":material/data_object:"):
        yield


def draw_downloads(files: Mapping[str, Download | str | bytes], suffix: str = "") -> None:
    """Draw a row of download buttons.

    files: file name -> content, or a function that creates it on click. suffix: appended to the
    widgets' keys, to distinguish files of the same name on one page.
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
