"""Export of a projection as one file: an offline page, a table or an image, by its extension."""

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vocadapt.analysis.figures.figures import SOURCE, TARGET, escape_names
from vocadapt.analysis.figures.projection import Drawing, Points, plot_projection, plot_side_by_side
from vocadapt.errors import InputError
from vocadapt.lab.steps.projection import ProjectionArtifact
from vocadapt.lab.workspace.drafts import check_free_file, open_file_draft
from vocadapt.text.spreadsheet import format_frame_as_csv

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


PAPER = "plotly_white"


def build_table(drawn: ProjectionArtifact) -> "pd.DataFrame":
    """Return one row per token: id, token, x, y, region, and count, x2, y2 and moved if known."""
    import pandas as pd

    xy = drawn.first.projection.xy
    regions = np.array([region.label for region in drawn.regions.regions], dtype=object)
    columns: dict[str, Any] = {
        "id": drawn.rows,
        "token": list(drawn.words),
        "x": xy[:, 0],
        "y": xy[:, 1],
    }
    columns |= {"region": regions[drawn.regions.numbers]}
    columns |= {} if drawn.counts is None else {"count": drawn.counts}
    if drawn.second is not None:
        other = drawn.second.projection.xy
        columns |= {"x2": other[:, 0], "y2": other[:, 1], "moved": drawn.moved}
    return pd.DataFrame(columns)


def render_page(drawn: ProjectionArtifact) -> str:
    """Render the projection as a self-contained HTML page that works offline."""
    return render_figure_page(drawn, _build_figure(drawn, 760))


def render_figure_page(drawn: ProjectionArtifact, figure: "go.Figure") -> str:
    """Render a figure of a projection, below its description, as a self-contained page."""
    config = {"scrollZoom": True, "displaylogo": False}
    figure.update_layout(template=PAPER)
    inner = figure.to_html(
        full_html=False, include_plotlyjs=True, include_mathjax=False, config=config
    )
    title = html.escape(f"Projection of {drawn.first.projection.name}")
    facts = "".join(f"<p>{html.escape(line)}</p>" for line in describe_projection(drawn))
    return PAGE.format(title=title, facts=facts, figure=inner)


def render_image(figure: "go.Figure", ending: str) -> bytes:
    """Render a figure as .png or .svg; raises InputError if there is no browser to render it."""
    figure.update_layout(template=PAPER)
    try:
        return bytes(figure.to_image(ending.removeprefix("."), width=1400, height=1000, scale=1))
    except Exception as error:
        raise InputError(
            "An image is rendered by a browser (Chrome or Chromium), and none could be used:"
            f" {type(error).__name__}.",
            "Write .html instead: any browser can open it and save it as an image.",
            code="no-browser",
        ) from error


def describe_projection(drawn: ProjectionArtifact) -> list[str]:
    """Describe a projection: choice of tokens, method and versions, quality."""
    lines = [drawn.how]
    for picture in filter(None, (drawn.first, drawn.second)):
        projection, quality = picture.projection, picture.quality
        versions = ", ".join(f"{name} {number}" for name, number in projection.versions.items())
        method = f"{drawn.method} by {versions}, seed {projection.settings.seed}"
        if drawn.layout_file:
            method = drawn.method
        measured = f"measured on all {quality.of:,} tokens"
        if quality.n < quality.of:
            measured = f"measured on {quality.n:,} of {quality.of:,} tokens"
        lines.append(
            f"{projection.name}: {method}; trustworthiness@{quality.k}"
            f" {quality.trustworthiness:.3f}, neighbors kept@{quality.k}"
            f" {quality.preservation:.3f} (chance {quality.chance:.3f}; {quality.metric},"
            f" {measured})"
        )
    return lines


def export_projection(drawn: ProjectionArtifact, path: Path, overwrite: bool = False) -> None:
    """Write a projection to a file in the format of its extension, completely or not at all.

    Raises InputError if the extension is not in FORMATS, if the file exists or cannot be written,
    and for an image if there is no browser.
    """
    check_export_path(path, overwrite)
    ending = path.suffix.lower()
    with open_file_draft(path) as draft:
        if ending == ".html":
            draft.write_text(render_page(drawn), encoding="utf-8")
        elif ending == ".csv":
            draft.write_text(
                format_frame_as_csv(build_table(drawn)), encoding="utf-8", newline="\n"
            )
        elif ending == ".parquet":
            build_table(drawn).to_parquet(draft, index=False)
        else:
            draft.write_bytes(render_image(_build_figure(drawn, 1000, as_vectors=True), ending))


def check_export_path(path: Path, overwrite: bool = False) -> None:
    """Raise InputError, before any long work, if `export_projection` could not write."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"{path.name}: a projection is not written in this format.",
            f"Use one of the extensions {', '.join(FORMATS)}, or a folder.",
        )
    check_free_file(path, overwrite)


def _build_figure(drawn: ProjectionArtifact, height: int, as_vectors: bool = False) -> "go.Figure":
    """Build the figure with named regions; two spaces side by side, in two colors."""
    names = escape_names(drawn.words)
    label = drawn.regions.labels_in
    pictures = [picture.projection for picture in (drawn.first, drawn.second) if picture]
    figures = [
        plot_projection(
            Points(one.xy, drawn.rows, names),
            Drawing(
                color=color, labels=label(one.xy), height=height, width=1200, as_vectors=as_vectors
            ),
        )
        for one, color in zip(pictures, (SOURCE, TARGET), strict=False)
    ]
    return (
        figures[0]
        if len(figures) == 1
        else plot_side_by_side([one.name for one in pictures], figures)
    )


FORMATS = (".html", ".csv", ".parquet", ".png", ".svg")
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 15px system-ui, sans-serif; color: #1B2733; margin: 1rem 1.5rem; }} p {{ margin: .2rem 0; }}</style></head>
<body><h1>{title}</h1>{facts}{figure}</body></html>
"""
