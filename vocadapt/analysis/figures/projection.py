"""Figure of a projection: points in colors and shapes, rings around selected tokens, region names."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from vocadapt.analysis.figures.figures import CHANGED, DOMAIN, GOOD, NEUTRAL, SOURCE, TARGET
from vocadapt.analysis.token_columns import Column
from vocadapt.progress import count

Matrix = NDArray[np.float32]
Mask = NDArray[np.bool_]
Window = tuple[float, float, float, float]  # left, right, bottom, top
Box = Window

MARKS = (
    (SOURCE, "circle"),
    (DOMAIN, "diamond"),
    (GOOD, "square"),
    (TARGET, "triangle-up"),
    (CHANGED, "cross"),
    ("#56B4E9", "triangle-down"),
    ("#B07D3A", "x"),
    (NEUTRAL, "pentagon"),
)  # fmt: skip; no open marks: WebGL draws none of them without a line
FIXED = {  # the color language of the lab, where a category has a place in it
    "source": (SOURCE, "circle"),
    "added": (GOOD, "diamond"),
    "target": (TARGET, "square"),
    "new row": (CHANGED, "cross"),
    "dropped": (NEUTRAL, "x"),
    "other": (NEUTRAL, "pentagon"),
    "the others": (NEUTRAL, "circle"),
}
NAMED = 60  # rings that get a name
LONGEST = 40  # characters of a name on the map and under the pointer


@dataclass(frozen=True, eq=False)
class Points:
    """Tokens in 2-D: coordinates (n, 2) float32, ids (n,) int64, escaped names (n,); in the same
    order.
    """

    xy: Matrix
    ids: NDArray[np.int64]
    names: NDArray[np.object_]

    def of(self, ids: Sequence[int]) -> NDArray[np.int64]:
        """Return the indices of the given ids that are on the projection, in the given order."""
        place = {int(id): i for i, id in enumerate(self.ids)} if len(ids) else {}
        return np.array([place[id] for id in ids if id in place], dtype=np.int64)


@dataclass(frozen=True)
class Rings:
    """Highlighted tokens by id: the looked-up word, its neighbors (with names), the selection."""

    word: int | None = None
    near: Sequence[int] = ()
    selected: Sequence[int] = ()


@dataclass(frozen=True)
class Drawing:
    """How a projection is drawn: colors, rings, (x, y, text) labels, visible window, size."""

    column: Column | None = None
    color: str = SOURCE  # of a map in one color
    rings: Rings = field(default_factory=Rings)
    labels: Sequence[tuple[float, float, str]] = ()
    window: Window | None = None
    height: int = 560
    width: int = 640  # pixels, about: by it names are judged to have room
    ink: str = "#1B2733"
    paper: str = "rgba(255,255,255,.75)"
    still: bool = False  # for paper: in vectors, not in WebGL


def plot_projection(points: Points, drawing: Drawing) -> go.Figure:
    """Plot a projection, one trace per category; each point carries its id as customdata.

    Points are dimmed while something is ringed.
    """
    size, opacity = dot_size(len(points.xy)), 0.3 if drawing.rings.word is not None else 0.75
    traces = [
        _build_trace(points, mask, trace, opacity, drawing.still)
        for mask, trace in _color_points(points, drawing, size)
    ]
    notes = [
        _build_annotation(name, drawing)
        for name in select_labels(_candidate_labels(points, drawing, size), points, drawing)
    ]
    rings = _build_rings(points, drawing, size)
    return go.Figure(
        [*traces, *rings], _build_layout(drawing) | {"annotations": notes}
    )  # one by one takes ten times as long


def plot_side_by_side(titles: Sequence[str], maps: Sequence[go.Figure]) -> go.Figure:
    """Plot projections of the same tokens side by side, with linked zoom and pan."""
    figure = make_subplots(
        1,
        len(maps),
        subplot_titles=[escape_name(title) for title in titles],
        horizontal_spacing=0.02,
    )
    for column, one in enumerate(maps, start=1):
        figure.add_traces(list(one.data), rows=1, cols=column)
        for label in one.layout.annotations:
            figure.add_annotation(label, row=1, col=column)
    figure.update_layout(_build_layout(Drawing(height=maps[0].layout.height)), showlegend=False)
    figure.update_xaxes(visible=False, matches="x")
    figure.update_yaxes(visible=False, matches="y", scaleanchor="x")
    return figure


def _build_trace(
    points: Points, rows: Any, looks: dict[str, Any], opacity: float, vectors: bool
) -> dict[str, Any]:
    """Build a trace of some points; selection does not change their look, since rings show it."""
    dimmed = {"marker": {"opacity": opacity}}
    looks["marker"] |= {"opacity": opacity}
    kind = {
        "type": "scatter" if vectors else "scattergl",
        "mode": "markers",
        "selected": dimmed,
        "unselected": dimmed,
    }
    return {**kind, **_point_data(points, rows), "hovertemplate": "%{text}<extra></extra>", **looks}


@dataclass(frozen=True)
class Label:
    """A label: position, escaped text, pixels above its position."""

    x: float
    y: float
    text: str
    above: float = 0


def _candidate_labels(points: Points, drawing: Drawing, size: float) -> list[Label]:
    """Return candidate labels, most important first: the word, its neighbors, the regions."""
    word = points.of(() if drawing.rings.word is None else (drawing.rings.word,))
    near = points.of(drawing.rings.near)[:NAMED]
    names = [(row, f"<b>{points.names[row]}</b>") for row in word] + [
        (row, str(points.names[row])) for row in near
    ]
    tokens = [
        Label(float(points.xy[row, 0]), float(points.xy[row, 1]), text, size + 9)
        for row, text in names
    ]
    return tokens + [Label(x, y, escape_name(text)) for x, y, text in drawing.labels]


def _build_annotation(name: Label, drawing: Drawing) -> dict[str, Any]:
    """Build the annotation of a label, with a background so that it is readable over points."""
    return {
        "x": name.x,
        "y": name.y,
        "text": name.text,
        "showarrow": False,
        "bgcolor": drawing.paper,
        "borderpad": 1,
        "font": {"color": drawing.ink, "size": 12},
        "yshift": name.above,
    }


def escape_names(tokens: Sequence[str]) -> NDArray[np.object_]:
    """Escape tokens for plotly, (n,) object; done once per projection, since it takes longer than
    drawing.
    """
    return np.array([escape_name(token) for token in tokens], dtype=object)


def escape_name(token: str, longest: int = LONGEST) -> str:
    """Shorten a token and escape it for plotly, which interprets some tags."""
    short = token if len(token) <= longest else token[: longest - 1] + "…"
    return html.escape(
        "".join(character if character.isprintable() else "�" for character in short)
    ).replace("$", "&#36;")


def select_labels(names: Sequence[Label], points: Points, drawing: Drawing) -> list[Label]:
    """Select the labels that fit, first ones first: no overlap, none outside the window."""
    left, right, bottom, top = drawing.window or _data_window(points.xy)
    scale = min(
        drawing.width / max(right - left, 1e-9), drawing.height / max(top - bottom, 1e-9)
    )  # pixels to a unit
    kept: dict[Label, Box] = {}
    for name in names:
        box = _label_box(name, scale)
        if (
            left <= name.x <= right
            and bottom <= name.y <= top
            and not any(_boxes_overlap(box, other) for other in kept.values())
        ):
            kept[name] = box
    return list(kept)


def _label_box(name: Label, scale: float) -> Box:
    """Estimate the box of a label in pixels: left, right, bottom, top."""
    half, x, y = (
        3.4 * len(html.unescape(name.text)) + 3,
        name.x * scale,
        name.y * scale + name.above,
    )
    return x - half, x + half, y - 9, y + 9


def _boxes_overlap(a: Box, b: Box) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def _data_window(xy: Matrix) -> Window:
    (left, bottom), (right, top) = xy.min(axis=0), xy.max(axis=0)
    return float(left), float(right), float(bottom), float(top)


def dot_size(n: int) -> float:
    """Return the marker size for n points."""
    return float(np.clip(34 / max(n, 1) ** 0.22, 3, 11))


def _point_data(points: Points, rows: Any) -> dict[str, Any]:
    """Return coordinates, ids and names of points, in small types to keep the page light."""
    ids = points.ids[rows]
    small = np.uint16 if len(points.ids) and points.ids.max() < 2**16 else np.int32
    return {
        "x": points.xy[rows, 0],
        "y": points.xy[rows, 1],
        "customdata": ids.astype(small),
        "text": points.names[rows],
    }


def _color_points(
    points: Points, drawing: Drawing, size: float
) -> list[tuple[Mask, dict[str, Any]]]:
    """Return masks of points and their look: by number, or by category with gray for no value."""
    column, marker = drawing.column, {"size": size, "line": {"width": 0}}
    if column is None:
        everything = np.ones(len(points.xy), dtype=bool)
        return [
            (
                everything,
                {
                    "marker": marker | {"color": drawing.color},
                    "showlegend": False,
                    "name": "tokens",
                },
            )
        ]
    if column.numbers is not None:
        return _color_by_number(column, column.numbers, marker)
    groups = []
    for code in range(-1, len(column.categories)):
        mask = column.codes == code
        name = column.categories[code] if code >= 0 else "no value"
        color, symbol = FIXED.get(name, MARKS[code]) if code >= 0 else (NEUTRAL, "star-diamond")
        shown = f"{escape_name(name)} · {count(mask.sum())}"
        groups.append(
            (mask, {"marker": marker | {"color": color, "symbol": symbol}, "name": shown})
        )
    return [group for group in groups if group[0].any()]


def _color_by_number(
    column: Column, numbers: Matrix, marker: dict[str, Any]
) -> list[tuple[Mask, dict[str, Any]]]:
    known = np.isfinite(numbers)
    values = np.log10(np.maximum(numbers, 0) + 1) if column.logarithmic else numbers
    bar: dict[str, Any] = {
        "title": {"text": escape_name(column.name), "side": "right"},
        "thickness": 10,
        "outlinewidth": 0,
    }
    if column.logarithmic and known.any():
        powers = np.arange(int(values[known].max()) + 1)
        bar["tickvals"] = np.log10(10.0**powers + 1).tolist()
        bar["ticktext"] = [f"{10**power:,}" for power in powers.tolist()]
    ends = np.percentile(values[known], [1, 99]) if known.any() else (0, 1)
    colored = {"color": values[known].astype(np.float32), "cmin": ends[0], "cmax": ends[1]}
    colored |= {
        "colorscale": "Viridis",
        "colorbar": bar | {"len": 0.6, "y": 0.3},
    }  # under the tools
    groups: list[tuple[Mask, dict[str, Any]]] = [
        (
            ~known,
            {"marker": marker | {"color": NEUTRAL, "symbol": "star-diamond"}, "name": "no value"},
        ),
        (
            known,
            {"marker": marker | colored, "showlegend": False, "name": escape_name(column.name)},
        ),
    ]
    return [group for group in groups if group[0].any()]


def _build_rings(points: Points, drawing: Drawing, size: float) -> list[dict[str, Any]]:
    """Build rings in the text color, which no point has."""
    rings, ring = drawing.rings, {"color": drawing.ink, "line": {"width": 1.5}}
    many = {"symbol": "circle", "size": size, "color": drawing.ink}  # so many rings would be a blot
    traces = []
    for ids, name, symbol, wider in (
        (rings.selected, "selected", "square-open", 5),
        (rings.near, "near in the space", "circle-open", 5),
        (() if rings.word is None else (rings.word,), "the word", "star", 9),
    ):
        rows = points.of(ids)
        marker = many if len(rows) > NAMED else ring | {"symbol": symbol, "size": size + wider}
        looks = {"name": name if name == "the word" else f"{name} · {len(rows)}", "marker": marker}
        if len(rows):
            traces.append(
                _build_trace(points, rows, looks, 1.0, drawing.still or len(rows) <= NAMED)
            )
    return traces


def _build_layout(drawing: Drawing) -> dict[str, Any]:
    """Build the layout: no axes, equal scales. Dragging pans: with the lasso as first tool
    Streamlit passes no click on.
    """
    bare = {
        "showgrid": False,
        "zeroline": False,
        "showticklabels": False,
        "ticks": "",
        "title": "",
        "showline": False,
    }
    x, y = dict(bare), bare | {"scaleanchor": "x"}
    if drawing.window:
        x["range"], y["range"] = drawing.window[:2], drawing.window[2:]
    return {
        "height": drawing.height,
        "uirevision": "fixed",
        "margin": {"l": 0, "r": 0, "t": 26, "b": 0},
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
        "modebar": {"orientation": "v"},  # beside the legend, not over it
    }
