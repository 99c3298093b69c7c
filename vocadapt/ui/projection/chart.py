"""The map itself: one picture, two side by side, or two laid over each other with a slider between
them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import NDArray

from vocadapt.analysis.figures.figures import DOMAIN, SOURCE, TARGET
from vocadapt.analysis.figures.projection import (
    Drawing,
    Points,
    Rings,
    Window,
    escape_names,
    plot_projection,
    plot_side_by_side,
)
from vocadapt.analysis.token_columns import Column
from vocadapt.spaces.space import Matrix
from vocadapt.ui.components.markup import escape_invisible
from vocadapt.ui.projection.sources import Shown

ZOOMS = ("1×", "2×", "4×", "8×", "16×")
ALONE, PAIR = (
    (520, 640),
    (
        440,
        290,
    ),
)  # pixels of a map alone, and of each of two: height and, about, width
LAYOUTS = ("side by side", "overlaid")
INKS = {"dark": ("#E6EBF0", "rgba(18,24,31,.75)"), "light": ("#1B2733", "rgba(255,255,255,.8)")}
COLORS = {"source": SOURCE, "domain": DOMAIN, "target": TARGET}
CONFIG = {
    "displaylogo": False,
    "scrollZoom": True,
    "displayModeBar": True,
    "modeBarButtonsToRemove": ["zoomIn2d", "zoomOut2d", "autoScale2d", "toImage"],
}


@dataclass(frozen=True)
class Look:
    """How a map is looked at: colors, whether regions are named, how near; for two spaces how, and
    how far between.
    """

    column: Column | None
    labels: bool = False
    zoom: int = 1
    overlaid: bool = False
    moved: float = 0.0


@dataclass
class Standing:
    """What stands out on the maps of one drawing of the page: changed by each word that is asked
    for, while the maps stay.

    rings: for each space. windows: the part of each map that is seen, None for all of it; none as
    long as they are not drawn.
    """

    rings: Sequence[Rings] = ()
    windows: list[Window | None] = field(default_factory=list)

    def out_of_sight(self, shown: Shown, look: Look) -> bool:
        """Whether the word is on a map that was drawn, but not in the part of it that is seen."""
        for xy, window, rings in zip(
            places_of(shown, look), self.windows, self.rings, strict=False
        ):
            at = [] if rings.word is None else np.flatnonzero(shown.map.rows == rings.word).tolist()
            if (
                window
                and at
                and not (
                    window[0] <= xy[at[0], 0] <= window[1]
                    and window[2] <= xy[at[0], 1] <= window[3]
                )
            ):
                return True
        return False


def ask_look(shown: Shown) -> tuple[bool, int, bool, float]:
    """Widgets of how a map is looked at: zoom, region names, and for two spaces the layout and the
    movement.
    """
    zoom = st.segmented_control(
        "Zoom",
        ZOOMS,
        default=ZOOMS[0],
        required=True,
        key="projection_zoom",
        bind="query-params",
        help="Nearer to the word that was found, else to the middle. The wheel zooms too.",
    )
    labels = st.toggle("Region names", key="projection_labels", bind="query-params")
    if len(shown.spaces) < 2:
        return labels, int(zoom[:-1]), False, 0.0
    layout = st.segmented_control(
        "Two spaces",
        LAYOUTS,
        default=LAYOUTS[0],
        required=True,
        key="projection_pair",
        bind="query-params",
    )
    if layout != LAYOUTS[1]:
        return labels, int(zoom[:-1]), False, 0.0
    moved = st.slider(
        "0: the first space, 1: the second",
        0.0,
        1.0,
        0.0,
        0.05,
        key="projection_move",
        bind="query-params",
        width=230,
    )
    return labels, int(zoom[:-1]), True, moved


def draw(shown: Shown, look: Look, standing: Standing, on_select: Callable[[str], None]) -> None:
    """Draw the map; `on_select` is called with the key of the chart that a lasso or a box was drawn
    on.

    Clicks go another way, and so does what stands out: see marks.js.
    """
    places = places_of(shown, look)
    standing.windows = []
    for number, (column, xy) in enumerate(
        zip(st.columns(len(places), gap="small"), places, strict=True)
    ):
        standing.windows.append(_window(shown, look, standing.rings[number], xy))
        with column:
            if len(places) > 1:
                st.text(shown.spaces[number].label)
            key = key_of(number)
            st.plotly_chart(
                figure(shown, xy, look, number, window=standing.windows[number]),
                key=key,
                config=CONFIG,
                alt=_said(shown, number),
                selection_mode=("box", "lasso"),
                on_select=lambda key=key: on_select(key),
            )


def key_of(number: int) -> str:
    """The key of a chart; another turn makes it anew, with nothing drawn on it."""
    return f"projection_{number}_{st.session_state.setdefault('projection_turn', 0)}"


def places_of(shown: Shown, look: Look) -> list[Matrix]:
    """The layouts that are drawn (n, 2): each space's own, or one between them."""
    places = [picture.projection.xy for picture in shown.pictures]
    return [(1 - look.moved) * places[0] + look.moved * places[1]] if look.overlaid else places


def figure(
    shown: Shown,
    xy: Matrix,
    look: Look,
    number: int = 0,
    rings: Rings = Rings(),  # noqa: B008
    window: Window | None = None,
    theme: str | None = None,
    labels: Sequence[tuple[float, float, str]] = (),
    still: bool = False,
) -> go.Figure:
    """The figure of one layout (n, 2), in the colors of the theme."""
    ink, paper = INKS[theme or st.context.theme.type or "light"]
    points = Points(xy, shown.map.rows, _names(shown.key, shown.words))
    height, width = ALONE if len(shown.spaces) == 1 or look.overlaid else PAIR
    color = COLORS[shown.kinds[round(look.moved) if look.overlaid else number]]
    return plot_projection(
        points,
        Drawing(look.column, color, rings, labels, window, height, width, ink, paper, still),
    )


def seen(shown: Shown, look: Look, rings: Sequence[Rings], still: bool = False) -> go.Figure:
    """The map as it is seen, with what stands out, on white paper: one figure, two spaces side by
    side in it.
    """
    drawn = [
        figure(
            shown,
            xy,
            look,
            number,
            ringed,
            _window(shown, look, ringed, xy),
            "light",
            regions(shown, look, xy),
            still,
        )
        for number, (xy, ringed) in enumerate(zip(places_of(shown, look), rings, strict=False))
    ]
    return (
        drawn[0]
        if len(drawn) == 1
        else plot_side_by_side([space.label for space in shown.spaces], drawn)
    )


def regions(shown: Shown, look: Look, xy: Matrix) -> list[tuple[float, float, str]]:
    """The names of the regions where their tokens lie in a layout (n, 2): (x, y, name); none where
    they are not asked for.
    """
    return (
        [(x, y, escape_invisible(name)) for x, y, name in shown.map.regions.labels_in(xy)]
        if look.labels
        else []
    )


def _window(shown: Shown, look: Look, rings: Rings, xy: Matrix) -> Window | None:
    center = () if rings.word is None else np.flatnonzero(shown.map.rows == rings.word)
    return window_of(xy, look.zoom, center)


def window_of(xy: Matrix, zoom: int, center: Sequence[int] | np.ndarray = ()) -> Window | None:
    """The part of a layout that is seen at a zoom: round the point of this number, else the middle;
    None: all of it.
    """
    if zoom <= 1:
        return None
    low, high = xy.min(axis=0), xy.max(axis=0)
    x, y = xy[center[0]] if len(center) else (low + high) / 2
    width, height = (high - low) * 1.05 / zoom / 2
    return float(x - width), float(x + width), float(y - height), float(y + height)


@st.cache_resource(max_entries=8, show_spinner=False)
def _names(key: str, _words: tuple[str, ...]) -> NDArray[np.object_]:
    return escape_names([escape_invisible(word) for word in _words])


def _said(shown: Shown, number: int) -> str:
    """The chart in words, for those who cannot see it."""
    settings = shown.map.settings.projection
    return (
        f"{settings.method} map of {len(shown.words)} tokens of"
        f" {shown.spaces[min(number, len(shown.spaces) - 1)].label}"
    )
