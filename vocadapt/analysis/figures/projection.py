"""Figure of a projection: points in colors and shapes, rings around selected tokens, names."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from vocadapt.analysis.figures.figures import (
    CHANGED,
    DOMAIN,
    GOOD,
    NEUTRAL,
    SOURCE,
    TARGET,
    escape_name,
)
from vocadapt.analysis.token_columns import Column
from vocadapt.progress import count

Matrix = NDArray[np.float32]
Mask = NDArray[np.bool_]
Window = tuple[float, float, float, float]  # left, right, bottom, top
Box = Window
Groups = list[tuple[Mask, dict[str, Any]]]  # masks of points, and the settings of their traces

MARKS = (
    (SOURCE, "circle"),
    (DOMAIN, "diamond"),
    (GOOD, "square"),
    (TARGET, "triangle-up"),
    (CHANGED, "cross"),
    ("#56B4E9", "triangle-down"),
    ("#B07D3A", "x"),
    (NEUTRAL, "pentagon"),
)  # fmt: skip; no open marks: WebGL does not draw them without a line
FIXED = {  # categories that have the same color on every page
    "source": (SOURCE, "circle"),
    "added": (GOOD, "diamond"),
    "target": (TARGET, "square"),
    "new row": (CHANGED, "cross"),
    "dropped": (NEUTRAL, "x"),
    "other": (NEUTRAL, "pentagon"),
    "the others": (NEUTRAL, "circle"),
}
MAX_NAMED_RINGS = 60
TOOLBAR = 36  # pixels right of the points: the toolbar must not hide any


@dataclass(frozen=True, eq=False)
class Points:
    """Tokens in 2-D: coordinates (n, 2) float32, ids (n,) int64, escaped names (n,) object."""

    xy: Matrix
    ids: NDArray[np.int64]
    names: NDArray[np.object_]

    def find_rows(self, ids: Sequence[int]) -> NDArray[np.int64]:
        """Return the rows of the given ids that are in the projection, in the given order."""
        if not len(ids):
            return np.empty(0, dtype=np.int64)
        row_of = dict(zip(self.ids.tolist(), range(len(self.ids)), strict=True))
        return np.array([row_of[id] for id in ids if id in row_of], dtype=np.int64)


@dataclass(frozen=True)
class Rings:
    """Highlighted tokens by id: the looked-up word, its neighbors (with names), the selection."""

    word: int | None = None
    near: Sequence[int] = ()
    selected: Sequence[int] = ()


@dataclass(frozen=True)
class Drawing:
    """Drawing settings of a projection: colors, rings, (x, y, text) labels, window, size."""

    column: Column | None = None
    color: str = SOURCE  # of a projection in one color
    rings: Rings = field(default_factory=Rings)
    labels: Sequence[tuple[float, float, str]] = ()
    window: Window | None = None
    height: int = 560
    width: int = 640  # pixels, approximate: decides which labels fit
    ink: str = "#1B2733"  # color of text and rings
    paper: str = "rgba(255,255,255,.75)"  # background of labels
    as_vectors: bool = False  # vector graphics instead of WebGL, for print


def plot_projection(points: Points, drawing: Drawing) -> go.Figure:
    """Plot a projection, one trace per category; each point carries its id as customdata.

    Points are dimmed while a word is highlighted.
    """
    # 1. The points, a trace for each category.
    size = dot_size(len(points.xy))
    opacity = 0.75 if drawing.rings.word is None else 0.3
    traces = [
        _build_trace(points, mask, trace, opacity, drawing.as_vectors)
        for mask, trace in _color_points(points, drawing, size)
    ]
    # 2. The labels that fit.
    notes = []
    for label in select_labels(_candidate_labels(points, drawing, size), points, drawing):
        notes.append(
            {
                "x": label.x,
                "y": label.y,
                "text": label.text,
                "showarrow": False,
                "bgcolor": drawing.paper,  # so that it can be read over points
                "borderpad": 1,
                "font": {"color": drawing.ink, "size": 12},
                "yshift": label.above,
            }
        )
    # Adding traces and annotations one by one would take ten times as long.
    return go.Figure(
        [*traces, *_build_rings(points, drawing, size)],
        _build_layout(drawing) | {"annotations": notes},
    )


def plot_side_by_side(titles: Sequence[str], projections: Sequence[go.Figure]) -> go.Figure:
    """Plot projections of the same tokens side by side, with linked zoom and pan."""
    figure = make_subplots(
        1,
        len(projections),
        subplot_titles=[escape_name(title) for title in titles],
        horizontal_spacing=0.02,
    )
    for column, one in enumerate(projections, start=1):
        figure.add_traces(list(one.data), rows=1, cols=column)
        for label in one.layout.annotations:
            figure.add_annotation(label, row=1, col=column)
    # All axes follow the first ones, so zooming one drawing zooms all.
    figure.update_layout(
        _build_layout(Drawing(height=projections[0].layout.height)), showlegend=False
    )
    figure.update_xaxes(visible=False, matches="x")
    figure.update_yaxes(visible=False, matches="y", scaleanchor="x")
    return figure


def _build_trace(
    points: Points, rows: Any, looks: dict[str, Any], opacity: float, vectors: bool
) -> dict[str, Any]:
    """Build a trace of some points; rings show the selection, so it does not change their marks."""
    dimmed = {"marker": {"opacity": opacity}}
    looks["marker"] |= {"opacity": opacity}
    ids = points.ids[rows].astype(np.int32)
    if points.ids.max(initial=0) < 2**16:
        ids = ids.astype(np.uint16)  # makes the page smaller
    return {
        "type": "scatter" if vectors else "scattergl",
        "mode": "markers",
        "selected": dimmed,
        "unselected": dimmed,
        "x": points.xy[rows, 0],
        "y": points.xy[rows, 1],
        "customdata": ids,
        "text": points.names[rows],
        "hovertemplate": "%{text}<extra></extra>",
        **looks,
    }


@dataclass(frozen=True)
class Label:
    """A label: position, escaped text, pixels above its position."""

    x: float
    y: float
    text: str
    above: float = 0


def _candidate_labels(points: Points, drawing: Drawing, size: float) -> list[Label]:
    """Return candidate labels, most important first: the word, its neighbors, the regions."""
    word = points.find_rows(() if drawing.rings.word is None else (drawing.rings.word,))
    near = points.find_rows(drawing.rings.near)[:MAX_NAMED_RINGS]
    names = [(row, f"<b>{points.names[row]}</b>") for row in word]
    names += [(row, str(points.names[row])) for row in near]
    tokens = [
        Label(float(points.xy[row, 0]), float(points.xy[row, 1]), text, size + 9)
        for row, text in names
    ]
    return tokens + [Label(x, y, escape_name(text)) for x, y, text in drawing.labels]


def select_labels(names: Sequence[Label], points: Points, drawing: Drawing) -> list[Label]:
    """Select labels in order of importance: none overlaps another or is outside the window."""
    # 1. The scale of the drawing, the same in both directions.
    (left, bottom), (right, top) = points.xy.min(axis=0), points.xy.max(axis=0)
    if drawing.window:
        left, right, bottom, top = drawing.window
    scale = min(  # pixels per unit
        drawing.width / max(right - left, 1e-9), drawing.height / max(top - bottom, 1e-9)
    )

    # 2. Estimate the box of each label in pixels; select it if it overlaps no selected one.
    selected: dict[Label, Box] = {}
    for name in names:
        half = 3.4 * len(html.unescape(name.text)) + 3
        x = name.x * scale
        y = name.y * scale + name.above
        box = (x - half, x + half, y - 9, y + 9)
        inside = left <= name.x <= right and bottom <= name.y <= top
        if inside and not any(_boxes_overlap(box, other) for other in selected.values()):
            selected[name] = box
    return list(selected)


def _boxes_overlap(a: Box, b: Box) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def dot_size(n: int) -> float:
    """Return the marker size for n points."""
    return float(np.clip(34 / max(n, 1) ** 0.22, 3, 11))


def _color_points(points: Points, drawing: Drawing, size: float) -> Groups:
    """Return masks of points and their trace settings: colored by number or by category; points
    without a value are gray.
    """
    column, marker = drawing.column, {"size": size, "line": {"width": 0}}
    if column is None:
        look = {
            "marker": marker | {"color": drawing.color},
            "showlegend": True,  # plotly hides the legend of a single trace
            "name": f"tokens · {count(len(points.xy))}",
        }
        return [(np.ones(len(points.xy), dtype=bool), look)]
    if column.numbers is not None:
        return _color_by_number(column, column.numbers, marker)
    groups = []
    # Gray for no value (code −1), then one color and mark per category.
    for code in range(-1, len(column.categories)):
        mask = column.codes == code
        name, (color, symbol) = "no value", (NEUTRAL, "star-diamond")
        if code >= 0:
            name = column.categories[code]
            color, symbol = FIXED.get(name, MARKS[code])
        groups.append(
            (
                mask,
                {
                    "marker": marker | {"color": color, "symbol": symbol},
                    "showlegend": True,  # plotly hides the legend of a single trace
                    "name": f"{escape_name(name)} · {count(mask.sum())}",
                },
            )
        )
    return [group for group in groups if group[0].any()]


def _color_by_number(column: Column, numbers: Matrix, marker: dict[str, Any]) -> Groups:
    """Return masks of points and their trace settings: gray without a value, else colored by value
    between the 1st and 99th percentile.
    """
    known = np.isfinite(numbers)
    gray = marker | {"color": NEUTRAL, "symbol": "star-diamond"}
    groups: Groups = []
    if not known.all():
        groups.append((~known, {"marker": gray, "name": "no value"}))
    if not known.any():
        return groups

    # The color scale; for frequencies logarithmic, from 0, with a tick per power of 10.
    values = numbers[known]
    name = escape_name(column.name)
    bar: dict[str, Any] = {
        "title": {"text": name, "side": "right"},
        "thickness": 10,
        "outlinewidth": 0,
        "len": 0.6,  # below the toolbar
        "y": 0.3,
    }
    if column.logarithmic:
        values = np.log10(np.maximum(values, 0) + 1)
        powers = [10**power for power in range(int(values.max()) + 1)]
        bar |= {
            "tickvals": [math.log10(power + 1) for power in powers],
            "ticktext": [f"{power:,}" for power in powers],
        }
    # Outliers would leave a single color for all other points.
    low, high = np.percentile(values, [1, 99])
    colors = {
        "color": values.astype(np.float32),
        "cmin": low,
        "cmax": high,
        "colorscale": "Viridis",
        "colorbar": bar,
    }
    groups.append((known, {"marker": marker | colors, "showlegend": False, "name": name}))
    return groups


def _build_rings(points: Points, drawing: Drawing, size: float) -> list[dict[str, Any]]:
    """Build the rings, in the text color, which no point has."""
    rings = drawing.rings
    ring = {"color": drawing.ink, "line": {"width": 1.5}}
    word = () if rings.word is None else (rings.word,)
    traces = []
    for ids, name, symbol, wider in (
        (rings.selected, "selected", "square-open", 5),
        (rings.near, "near in the space", "circle-open", 5),
        (word, "the word", "star", 9),
    ):
        rows = points.find_rows(ids)
        if not len(rows):
            continue
        marker = ring | {"symbol": symbol, "size": size + wider}
        if len(rows) > MAX_NAMED_RINGS:  # so many rings would overlap: draw dots
            marker = {"symbol": "circle", "size": size, "color": drawing.ink}
        if name != "the word":
            name = f"{name} · {len(rows)}"
        traces.append(
            _build_trace(
                points,
                rows,
                {"name": name, "marker": marker},
                1.0,
                drawing.as_vectors or len(rows) <= MAX_NAMED_RINGS,
            )
        )
    return traces


def _build_layout(drawing: Drawing) -> dict[str, Any]:
    """Build the layout: no axes, equal scales.

    Dragging pans by default: with the lasso as the default tool Streamlit reports no clicks.
    """
    bare = {
        "showgrid": False,
        "zeroline": False,
        "showticklabels": False,
        "ticks": "",
        "title": "",
        "showline": False,
    }
    x = dict(bare)
    y = bare | {"scaleanchor": "x"}
    if drawing.window:
        x["range"], y["range"] = drawing.window[:2], drawing.window[2:]
    return {
        "height": drawing.height,
        "uirevision": "fixed",
        "margin": {"l": 0, "r": TOOLBAR, "t": 26, "b": 0},
        "dragmode": "pan",
        "xaxis": x,
        "yaxis": y,
        "hovermode": "closest",
        "legend": {
            "orientation": "h",
            "y": 1,
            "yanchor": "bottom",
            "x": 0,
            "itemsizing": "constant",
        },
        "modebar": {"orientation": "v"},  # next to the legend, not over it
    }
