"""Values in, maps out: words in the plane as lean plotly figures. Nothing here computes a number that a reader takes away."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray
from plotly.subplots import make_subplots

from vocadapt.analysis.figures import CHANGED, DOMAIN, GOOD, NULL, SERIES, SOURCE, SYMBOLS, TARGET

LONGEST = 60  # characters of a token in a hover label
ORIGINS = {"source": SOURCE, "domain": DOMAIN, "added": GOOD, "target": TARGET, "changed": CHANGED, "dropped": NULL}
SCALE = [[0.0, "#c9d3dc"], [0.5, SOURCE], [1.0, "#08263d"]]
PALETTE = (
    *SERIES, "#56B4E9", "#8C6D31", "#5F4690", "#1D6996", "#38A6A5", "#0F8554", "#73AF48", "#CC503E", "#94346E", "#6F4070",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Colouring:
    """What the colour of a point says: a number each (n,), or with `names` the number of its category, −1 for none."""

    title: str
    values: ArrayLike
    names: tuple[str, ...] = ()


def literal(token: str, longest: int = LONGEST) -> str:
    """A token as plotly shows it literally: no tag of it is markup, no $ begins a formula; a long one is cut with an ellipsis."""
    shown = token if len(token) <= longest else f"{token[: longest - 1]}…"
    return html.escape(shown).replace("$", "&#36;")


def cloud(
    words: Sequence[str],
    xy: ArrayLike,
    ids: ArrayLike,
    colouring: Colouring | None = None,
    labels: Sequence[tuple[str, float, float]] = (),
    marked: Sequence[int] = (),
    height: int = 620,
    still: bool = False,
) -> go.Figure:
    """Words in the plane (n, 2), the token at each point's hover, its id as customdata.

    labels: (text, x, y) of regions. marked: places (0 … n−1) that stand out, with their words. still: for a picture on paper,
    in vectors instead of WebGL.
    """
    places = np.asarray(xy, dtype=np.float32)
    figure = go.Figure(layout=_layout(height))
    text, numbers = np.array([literal(word) for word in words], dtype=object), _lean(ids)
    draw = go.Scatter if still else go.Scattergl
    traces = [
        draw(
            x=places[rows, 0], y=places[rows, 1], mode="markers", name=name, text=text[rows], customdata=numbers[rows],
            marker=marker, hovertemplate="%{text}<extra></extra>",
        )
        for name, rows, marker in _groups(colouring, len(places), 4 if len(places) > 8000 else 5)
    ]  # fmt: skip
    if len(marked):
        traces.append(_marked(places, text, numbers, np.asarray(marked, dtype=np.int64)))
    figure.add_traces(traces)
    figure.update_layout(showlegend=len(traces) > 1, annotations=[_label(*label) for label in labels])
    return figure


def side_by_side(titles: Sequence[str], clouds: Sequence[go.Figure]) -> go.Figure:
    """Clouds of the same words beside each other: to zoom or to move one moves the others too."""
    figure = make_subplots(1, len(clouds), subplot_titles=[literal(title) for title in titles], horizontal_spacing=0.02)
    for column, one in enumerate(clouds, start=1):
        figure.add_traces(list(one.data), rows=1, cols=column)
        for label in one.layout.annotations:
            figure.add_annotation(label, row=1, col=column)
    figure.update_layout(_layout(clouds[0].layout.height or 620), showlegend=False)
    figure.update_xaxes(visible=False, matches="x")
    figure.update_yaxes(visible=False, matches="y", scaleanchor="x")
    return figure


def _lean(values: ArrayLike) -> NDArray[Any]:
    """The same numbers in the narrowest type that plotly sends as bytes: what a browser is sent is half of this."""
    given = np.asarray(values)
    if given.dtype.kind == "f" or not len(given):
        return given.astype(np.float32)
    return given.astype(np.uint16 if given.min() >= 0 and given.max() < 2**16 else np.int32)


def _groups(
    colouring: Colouring | None, n: int, size: int
) -> list[tuple[str, NDArray[np.int64], dict[str, Any]]]:
    """One trace, or one a category: its name, the places in it, its marker."""
    every, plain = np.arange(n), {"size": size, "opacity": 0.7}
    if colouring is None:
        return [("tokens", every, {**plain, "color": SOURCE})]
    values = np.asarray(colouring.values)
    if not colouring.names:
        bar = {"title": {"text": literal(colouring.title), "side": "right"}, "thickness": 10, "outlinewidth": 0}
        return [("tokens", every, {**plain, "color": _lean(values), "colorscale": SCALE, "colorbar": bar})]
    groups = []
    for number, name in [*enumerate(colouring.names), (-1, "none")]:
        rows = np.flatnonzero(values == number)
        colour = NULL if number < 0 else ORIGINS.get(name, PALETTE[number % len(PALETTE)])
        symbol = SYMBOLS[number // len(PALETTE) % len(SYMBOLS)] if number >= 0 else "x"
        groups.append((literal(name), rows, {**plain, "color": colour, "symbol": symbol}))
    return [group for group in groups if len(group[1])]


def _marked(
    places: NDArray[np.float32], text: NDArray[np.object_], ids: NDArray[Any], rows: NDArray[np.int64]
) -> go.Scatter:
    return go.Scatter(
        x=places[rows, 0], y=places[rows, 1], mode="markers+text", name="marked", text=text[rows], customdata=ids[rows],
        textposition="top center", marker={"size": 10, "color": DOMAIN, "symbol": "circle-open", "line": {"width": 2}},
        hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def _label(text: str, x: float, y: float) -> dict[str, Any]:
    return {
        "text": literal(text), "x": x, "y": y, "showarrow": False, "font": {"size": 12}, "bgcolor": "rgba(255,255,255,.72)",
    }  # fmt: skip


def _layout(height: int) -> dict[str, Any]:
    """No frame, no axes: in t-SNE and UMAP they say nothing; both at one scale, so that the shape is not bent."""
    hidden = {"visible": False, "showgrid": False, "zeroline": False}
    return {
        "height": height, "uirevision": "fixed", "margin": {"l": 4, "r": 4, "t": 30, "b": 4}, "hovermode": "closest",
        "xaxis": hidden, "yaxis": {**hidden, "scaleanchor": "x"}, "dragmode": "pan",
        "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "itemsizing": "constant"},
    }  # fmt: skip
