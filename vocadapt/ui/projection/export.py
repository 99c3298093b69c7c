"""Exports of the page Projection: tables of tokens, the chart as HTML, PNG or SVG, and the command
line.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

import streamlit as st

from vocadapt.lab.artifacts.projection_files import build_table, render_figure_page, render_image
from vocadapt.lab.steps.projection import summarize_projection
from vocadapt.lab.workspace import strict_json
from vocadapt.text.spreadsheet import format_frame_as_csv
from vocadapt.ui.components.blocks import Download, draw_command, draw_downloads, open_details
from vocadapt.ui.frame import mistakes
from vocadapt.ui.projection.chart import Look, Standing, seen
from vocadapt.ui.projection.form import command
from vocadapt.ui.projection.sources import Shown

if TYPE_CHECKING:
    import pandas as pd


def table_files(make: "Callable[[], pd.DataFrame]", name: str) -> dict[str, Download]:
    """Offer a table for download: CSV for spreadsheets (escaped cells), and Parquet with unchanged
    tokens.
    """
    return {
        f"{name}.csv": lambda: format_frame_as_csv(make()),
        f"{name}.parquet": lambda: bytes(make().to_parquet(index=False)),
    }


def draw_details(shown: Shown, look: Look, standing: Standing) -> None:
    """Draw Details & export: settings, command line and files of the projection."""
    with open_details():
        st.markdown("The same projection in a terminal")
        draw_command(command(shown))
        left, right = st.columns(2)
        left.markdown("Settings")
        left.code(strict_json.dumps(asdict(shown.map.settings), indent=1), language="json")
        right.markdown("Figures and versions")
        right.code(strict_json.dumps(_figures(shown), indent=1), language="json")
        files: dict[str, Download] = {
            "map.html": lambda: render_figure_page(shown.map, seen(shown, look, standing.rings))
        }
        draw_downloads({**files, **table_files(lambda: build_table(shown.map), "map")})
        drawn = st.button("Draw as PNG and SVG", icon=":material/image:", key="draw_pictures")
        if drawn:
            _pictures(shown, look, standing)


def _pictures(shown: Shown, look: Look, standing: Standing) -> None:
    """Render the visible projection and offer the files; shows a message if no browser can render
    it.
    """
    with mistakes.show_errors(), st.spinner("Drawing …"):
        drawn = {
            f"map.{end}": render_image(seen(shown, look, standing.rings, still=True), end)
            for end in ("png", "svg")
        }
        draw_downloads(drawn)


def _figures(shown: Shown) -> dict[str, object]:
    versions = dict(shown.pictures[0].projection.versions)
    return {
        "figures": summarize_projection(shown.map),
        "versions": versions,
        "seconds": shown.map.seconds,
    }
