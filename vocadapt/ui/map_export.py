"""What leaves the map page: tables of tokens, the picture as HTML, PNG or SVG, the same map as a command line."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import streamlit as st

from vocadapt.lab import strict_json
from vocadapt.lab.mapping import headline
from vocadapt.lab.workspace import Workspace
from vocadapt.ui.export import Download
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


def details(workspace: Workspace, shown: Shown) -> None:
    """Details & export: the settings, the same map as a command, the map as files."""
    with st.expander("Details & export", icon=":material/data_object:"):
        st.markdown("The same map in a terminal")
        st.code(command(shown), language="bash", wrap_lines=True)
        left, right = st.columns(2)
        left.markdown("Settings")
        left.code(strict_json.dumps(asdict(shown.map.settings), indent=1), language="json")
        right.markdown("Figures and versions")
        right.code(strict_json.dumps(_figures(shown), indent=1), language="json")


def _figures(shown: Shown) -> dict[str, object]:
    versions = dict(shown.pictures[0].projection.versions)
    return {"figures": headline(shown.map), "versions": versions, "seconds": shown.map.seconds}
