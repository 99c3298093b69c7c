"""The map itself: one picture, two side by side, or two laid over each other with a slider between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import NDArray

from vocadapt.analysis.columns import Column
from vocadapt.analysis.figures import DOMAIN, SOURCE
from vocadapt.analysis.map_figure import Drawing, Points, Rings, Window, literal_names, map_figure, side_by_side
from vocadapt.spaces.space import Matrix
from vocadapt.ui.map_sources import Shown
from vocadapt.ui.markup import visible

ZOOMS = ("1×", "2×", "4×", "8×", "16×")
ALONE, PAIR = (520, 640), (440, 290)  # pixels of a map alone, and of each of two: height and, about, width
LAYOUTS = ("side by side", "overlaid")
INKS = {"dark": ("#E6EBF0", "rgba(18,24,31,.75)"), "light": ("#1B2733", "rgba(255,255,255,.8)")}
CONFIG = {
    "displaylogo": False, "scrollZoom": True, "displayModeBar": True,
    "modeBarButtonsToRemove": ["zoomIn2d", "zoomOut2d", "autoScale2d", "toImage"],
}  # fmt: skip


@dataclass(frozen=True)
class Look:
    """How a map is looked at: colours, rings, whether regions are named, how near; for two spaces how, and how far between."""

    column: Column | None
    rings: Sequence[Rings]  # for each space
    labels: bool = False
    zoom: int = 1
    overlaid: bool = False
    moved: float = 0.0


def ask_look(shown: Shown) -> tuple[bool, int, bool, float]:
    """Widgets of how a map is looked at: zoom, region names, and for two spaces the layout and the movement."""
    zoom = st.segmented_control(
        "Zoom", ZOOMS, default=ZOOMS[0], required=True, key="zoom", bind="query-params",
        help="Nearer to the word that was found, else to the middle. The wheel zooms too, until the next click.",
    )  # fmt: skip
    labels = st.toggle("Region names", key="labels", bind="query-params")
    if len(shown.spaces) < 2:
        return labels, int(zoom[:-1]), False, 0.0
    layout = st.segmented_control("Two spaces", LAYOUTS, default=LAYOUTS[0], required=True, key="pair", bind="query-params")
    if layout != LAYOUTS[1]:
        return labels, int(zoom[:-1]), False, 0.0
    moved = st.slider("0: the first space, 1: the second", 0.0, 1.0, 0.0, 0.05, key="move", bind="query-params", width=230)
    return labels, int(zoom[:-1]), True, moved


def draw(shown: Shown, look: Look, on_select: Callable[[str], None]) -> None:
    """Draw the map; `on_select` is called with the key of the chart that was pointed at."""
    turn = st.session_state.setdefault("map_turn", 0)
    places = places_of(shown, look)
    for number, (column, xy) in enumerate(zip(st.columns(len(places), gap="small"), places, strict=True)):
        with column:
            if len(places) > 1:
                st.text(shown.spaces[number].label)
            key = f"map_{number}_{turn}"
            st.plotly_chart(
                figure(shown, xy, look, number), key=key, config=CONFIG, alt=_said(shown, number),
                on_select=lambda key=key: on_select(key),
            )  # fmt: skip


def places_of(shown: Shown, look: Look) -> list[Matrix]:
    """The layouts that are drawn (n, 2): each space's own, or one between them."""
    places = [picture.projection.xy for picture in shown.pictures]
    return [(1 - look.moved) * places[0] + look.moved * places[1]] if look.overlaid else places


def figure(shown: Shown, xy: Matrix, look: Look, number: int = 0, theme: str | None = None, still: bool = False) -> go.Figure:
    """The figure of one layout (n, 2), in the colours of the theme; regions are named on the first."""
    ink, paper = INKS[theme or st.context.theme.type or "light"]
    points = Points(xy, shown.map.rows, _names(shown.key, shown.words))
    regions = shown.map.regions.regions if look.labels and not number and not look.moved else ()
    labels = [(region.x, region.y, visible(region.label)) for region in regions]
    rings = look.rings[number]
    window = window_of(xy, look.zoom, points.of([rings.word]) if rings.word is not None else ())
    height, width = ALONE if len(shown.spaces) == 1 or look.overlaid else PAIR
    colour = SOURCE if shown.spaces[min(number, len(shown.spaces) - 1)].opened.model else DOMAIN
    return map_figure(points, Drawing(look.column, colour, rings, labels, window, height, width, ink, paper, still))


def seen(shown: Shown, look: Look, still: bool = False) -> go.Figure:
    """The map as it is seen, on white paper: one figure, two spaces side by side in it."""
    drawn = [figure(shown, xy, look, number, "light", still) for number, xy in enumerate(places_of(shown, look))]
    return drawn[0] if len(drawn) == 1 else side_by_side([space.label for space in shown.spaces], drawn)


def window_of(xy: Matrix, zoom: int, centre: Sequence[int] | np.ndarray = ()) -> Window | None:
    """The part of a layout that is seen at a zoom: round the point of this number, else the middle; None: all of it."""
    if zoom <= 1:
        return None
    low, high = xy.min(axis=0), xy.max(axis=0)
    x, y = xy[centre[0]] if len(centre) else (low + high) / 2
    width, height = (high - low) * 1.05 / zoom / 2
    return float(x - width), float(x + width), float(y - height), float(y + height)


@st.cache_resource(max_entries=8, show_spinner=False)
def _names(key: str, _words: tuple[str, ...]) -> NDArray[np.object_]:
    return literal_names([visible(word) for word in _words])


def _said(shown: Shown, number: int) -> str:
    """The chart in words, for those who cannot see it."""
    settings = shown.map.settings.projection
    return f"{settings.method} map of {len(shown.words)} tokens of {shown.spaces[min(number, len(shown.spaces) - 1)].label}"
