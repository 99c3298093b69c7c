"""What leaves the map page: tables of tokens, the picture as HTML, PNG or SVG, the same map as a command line."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import streamlit as st

from vocadapt.lab import strict_json
from vocadapt.lab.map_files import map_csv, map_parquet, page_of, picture_of
from vocadapt.lab.mapping import headline
from vocadapt.ui import mistakes
from vocadapt.ui.export import Download
from vocadapt.ui.map_chart import Look, seen
from vocadapt.ui.map_making import command
from vocadapt.ui.map_sources import Shown

Table = Mapping[str, Sequence[object]]


def table_files(table: Table, name: str) -> dict[str, Download]:
    """A table as files, made on the click: CSV and Parquet, tokens as they are."""
    return {f"{name}.csv": lambda: _csv(table), f"{name}.parquet": lambda: _parquet(table)}


def _csv(table: Table) -> str:
    import csv

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue()


def _parquet(table: Table) -> bytes:
    import pyarrow
    import pyarrow.parquet

    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({name: list(values) for name, values in table.items()}), buffer)
    return buffer.getvalue()


def details(shown: Shown, look: Look) -> None:
    """Details & export: the settings, the same map as a command, the map as it is seen as files."""
    with st.expander("Details & export", icon=":material/data_object:"):
        st.markdown("The same map in a terminal")
        st.code(command(shown), language="bash", wrap_lines=True)
        left, right = st.columns(2)
        left.markdown("Settings")
        left.code(strict_json.dumps(asdict(shown.map.settings), indent=1), language="json")
        right.markdown("Figures and versions")
        right.code(strict_json.dumps(_figures(shown), indent=1), language="json")
        with st.container(horizontal=True):
            files = {"map.html": lambda: page_of(shown.map, seen(shown, look)), "map.csv": lambda: map_csv(shown.map),
                     "map.parquet": lambda: map_parquet(shown.map)}  # fmt: skip
            for name, make in files.items():
                st.download_button(name, make, name, on_click="ignore", icon=":material/download:", key=f"get_{name}")
            drawn = st.button("Draw as PNG and SVG", icon=":material/image:", key="draw_pictures")
        if drawn:
            _pictures(shown, look)


def _pictures(shown: Shown, look: Look) -> None:
    """Draw the map as it is seen for paper, and offer the files; one line where no browser can draw it."""
    with mistakes.shown(), st.spinner("Drawing …"):
        drawn = {f"map.{ending}": picture_of(seen(shown, look, still=True), ending) for ending in ("png", "svg")}
        with st.container(horizontal=True):
            for name, data in drawn.items():
                st.download_button(name, data, name, on_click="ignore", icon=":material/download:", key=f"get_{name}")


def _figures(shown: Shown) -> dict[str, object]:
    versions = dict(shown.pictures[0].projection.versions)
    return {"figures": headline(shown.map), "versions": versions, "seconds": shown.map.seconds}
