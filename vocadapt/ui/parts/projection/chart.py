"""The chart of a projection: one space, two side by side, or two overlaid with a slider between
them; the marks over it, and the tokens selected on it.

The marks (searched word, its neighbors, selection, region names) are not part of plotly's figure,
which a browser needs half a second or more to redraw: see marks.js.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from vocadapt.analysis.figures.figures import (
    DOMAIN,
    MAX_NAME_LENGTH,
    SOURCE,
    TARGET,
    escape_names,
)
from vocadapt.analysis.figures.projection import (
    MAX_NAMED_RINGS,
    Drawing,
    Points,
    Rings,
    Window,
    dot_size,
    plot_projection,
    plot_side_by_side,
)
from vocadapt.analysis.token_columns import Column
from vocadapt.spaces.space import Matrix
from vocadapt.ui.parts.projection.sources import OpenedProjection
from vocadapt.ui.text.markup import escape_invisible
from vocadapt.ui.text.number_formats import count

ZOOMS = ("1×", "2×", "4×", "8×", "16×")
SINGLE_SIZE = (620, 700)  # height and approximate width of a single chart, in pixels
PAIR_SIZE = (440, 290)  # the same for each of two charts
LAYOUTS = ("side by side", "overlaid")
INKS = {"dark": ("#E6EBF0", "rgba(18,24,31,.75)"), "light": ("#1B2733", "rgba(255,255,255,.8)")}
LABELS = {"tsne": "t-SNE", "umap": "UMAP", "pca": "PCA"}
COLORS = {"source": SOURCE, "domain": DOMAIN, "target": TARGET}
CONFIG = {
    "displaylogo": False,
    "scrollZoom": True,
    "displayModeBar": True,
    "modeBarButtonsToRemove": ["zoomIn2d", "zoomOut2d", "autoScale2d", "toImage"],
}
PICKED = "projection_picked"  # query parameter: the selected ids
TABLE_TURN = "projection_table_renewed"  # session key: how often the table was reordered
BY_HAND = "projection_by_hand"  # session key: (stamp of the space, all selected ids)
MAX_IN_ADDRESS = 50  # ids; a larger selection can be saved as a slice
MIN_TOKENS_OF_REGIONS = 20  # tokens of a projection whose regions have names
MAX_NAMED_TOKENS = 200  # tokens of a projection up to which all have names, where there is room
MARKS = "projection_marks"
_draw_over_charts = st.components.v2.component(
    "vocadapt_projection_marks",
    js=Path(__file__).with_name("marks.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


@dataclass(frozen=True)
class ViewSettings:
    """View settings of a projection: color column, region names, zoom; for two spaces the position
    between them if they are overlaid, None if they are side by side.
    """

    column: Column | None
    labels: bool = True
    zoom: int = 1
    position: float | None = None


def choose_view_settings(
    view: DeltaGenerator, n_spaces: int, column: Column | None
) -> ViewSettings:
    """Draw zoom and region names in the tab View; for two spaces their layout above the charts."""
    zoom = view.segmented_control(
        "Zoom",
        ZOOMS,
        default=ZOOMS[0],
        required=True,
        key="projection_zoom",
        bind="query-params",
        help="Zooms in on the searched token, or on the center. The mouse wheel also zooms.",
    )
    labels = view.toggle("Region names", True, key="projection_labels", bind="query-params")
    position = _choose_position() if n_spaces > 1 else None
    return ViewSettings(column, labels, int(zoom[:-1]), position)


def _choose_position() -> float | None:
    """Draw the layout of two spaces; return the position between them if they are overlaid."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layout = st.segmented_control(
            "Two spaces",
            LAYOUTS,
            default=LAYOUTS[0],
            required=True,
            key="projection_pair",
            bind="query-params",
        )
        if layout == LAYOUTS[0]:
            return None
        position = st.slider(
            "First to second space",
            0.0,
            1.0,
            0.0,
            0.05,
            key="projection_move",
            bind="query-params",
            width=230,
        )
    return float(position)


def draw_charts(
    shown: OpenedProjection,
    view_settings: ViewSettings,
    rings: Sequence[Rings],
) -> None:
    """Draw the projection; a lasso or box selects tokens. Clicks are handled by `draw_marks`.

    rings: the highlighted points of each space.
    """
    places = compute_layouts(shown, view_settings)
    for number, column in enumerate(st.columns(len(places), gap="small")):
        with column:
            if len(places) > 1:
                st.text(shown.spaces[number].label)
            key = get_chart_key(number)
            st.plotly_chart(
                build_figure(shown, view_settings, number, rings[number]),
                key=key,
                config=CONFIG,
                alt=escape_invisible(describe_view(shown)),
                selection_mode=("box", "lasso"),
                on_select=partial(_select_in_lasso, key, shown),
            )


def _select_in_lasso(key: str, shown: OpenedProjection) -> None:
    ids = read_point_ids(st.session_state[key]["selection"]["points"], len(shown.space))
    if ids:
        select_by_hand(shown, ids)


def get_chart_key(number: int) -> str:
    """Return the widget key of a chart; `clear_selection` changes it to get a new chart."""
    return f"projection_{number}_{st.session_state.setdefault('projection_turn', 0)}"


def compute_layouts(shown: OpenedProjection, view_settings: ViewSettings) -> list[Matrix]:
    """Return the drawn layouts, each (n, 2) float32: one per space, or one interpolated between
    two.
    """
    places = [picture.projection.xy for picture in shown.layouts]
    if view_settings.position is None:
        return places
    return [(1 - view_settings.position) * places[0] + view_settings.position * places[1]]


def build_figure(
    shown: OpenedProjection,
    view_settings: ViewSettings,
    number: int,
    rings: Rings,
    is_export: bool = False,
    as_vectors: bool = False,
) -> go.Figure:
    """Return the figure of one layout, in the colors of the theme, without the marks that are drawn
    over it; for an export, with its highlights and region names, on white.
    """
    places = compute_layouts(shown, view_settings)
    xy = places[number]
    center = np.flatnonzero(shown.projection.rows == rings.word)
    window = compute_window(xy, view_settings.zoom, center)
    # 1. The theme, and what an export shows in addition to the points.
    theme = st.context.theme.type or "light"
    drawn_rings = Rings()
    labels = []
    if is_export:
        theme, drawn_rings = "light", rings
        labels = list_region_labels(shown, view_settings, xy)
    ink, paper = INKS[theme]
    # 2. A single chart has the full width; an interpolated layout the color of the nearer space.
    height, width = PAIR_SIZE if len(places) > 1 else SINGLE_SIZE
    if view_settings.position is not None:
        number = round(view_settings.position)
    return plot_projection(
        Points(xy, shown.projection.rows, _build_names(shown.key, shown.words)),
        Drawing(
            view_settings.column,
            COLORS[shown.kinds[number]],
            drawn_rings,
            labels,
            window,
            height,
            width,
            ink,
            paper,
            as_vectors,
        ),
    )


def build_visible_figure(
    shown: OpenedProjection,
    view_settings: ViewSettings,
    rings: Sequence[Rings],
    as_vectors: bool = False,
) -> go.Figure:
    """Return the visible projection as exported; two spaces side by side in one figure."""
    numbers = range(len(compute_layouts(shown, view_settings)))
    drawn = [
        build_figure(shown, view_settings, number, rings[number], True, as_vectors)
        for number in numbers
    ]
    if len(drawn) == 1:
        return drawn[0]
    return plot_side_by_side([space.label for space in shown.spaces], drawn)


def list_region_labels(
    shown: OpenedProjection, view_settings: ViewSettings, xy: Matrix
) -> list[tuple[float, float, str]]:
    """Return (x, y, name) of each region in a layout (n, 2); empty if region names are off, or for
    so few tokens that each has its own name.
    """
    if not view_settings.labels or len(shown.words) < MIN_TOKENS_OF_REGIONS:
        return []
    return [(x, y, escape_invisible(name)) for x, y, name in shown.projection.regions.labels_in(xy)]


def compute_window(xy: Matrix, zoom: int, center: Sequence[int] | np.ndarray = ()) -> Window | None:
    """Return the visible window of a layout (n, 2) around a point or the center; None for all."""
    if zoom <= 1:
        return None
    # The margin of 5 % keeps points at the edge inside the window.
    low = xy.min(axis=0)
    high = xy.max(axis=0)
    x, y = xy[center[0]] if len(center) else (low + high) / 2
    width, height = (high - low) * 1.05 / zoom / 2
    return float(x - width), float(x + width), float(y - height), float(y + height)


@st.cache_resource(max_entries=8, show_spinner=False)
def _build_names(key: str, _words: tuple[str, ...]) -> NDArray[np.object_]:
    return escape_names([escape_invisible(word) for word in _words])


def describe_view(shown: OpenedProjection) -> str:
    """Describe a projection in one sentence with numbers, for those who do not see it."""
    projection, method = shown.projection, shown.projection.method
    what = f"{LABELS.get(method, method.capitalize())} of {count(len(shown.words))} tokens"
    if shown.center:
        what += f" around {shown.words[0]}"
    parts = [f"{what} in {shown.spaces[0].label}"]
    if shown.added:
        parts.append(f"{count(shown.added)} of them added")
    # Of a neighborhood, the tokens are in the order of their similarity.
    if shown.center:
        parts.append(f"nearest: {', '.join(shown.words[1:6])}")
    elif len(shown.words) >= MIN_TOKENS_OF_REGIONS:
        names = [region.words[0] for region in projection.regions.regions[:5]]
        parts.append(f"largest regions: around {', '.join(names)}")
    else:
        parts.append(", ".join(shown.words))
    return "; ".join(parts) + "."


def build_marks(
    shown: OpenedProjection, view_settings: ViewSettings, number: int, rings: Rings
) -> dict[str, Any]:
    """Return the marks of a chart as marks.js reads them: ids of the word, its neighbors and the
    selection; ids with names, the most important first; names by id; (x, y, name) of regions.

    Names are escaped, because a canvas shows text literally.
    """
    regions = list_region_labels(
        shown, view_settings, compute_layouts(shown, view_settings)[number]
    )
    near = [int(id) for id in rings.near]
    selected = [int(id) for id in rings.selected]
    # In order of importance: where labels would overlap, the first one is drawn.
    named = [id for id in near if id >= 0][:MAX_NAMED_RINGS]
    if rings.word is not None:
        named.insert(0, rings.word)
    if len(selected) <= MAX_NAMED_RINGS:
        named += selected
    is_small = len(shown.words) <= MAX_NAMED_TOKENS
    others = shown.projection.rows.tolist() if is_small else []
    words = shown.space.words
    return {
        "chart": get_chart_key(number),
        "size": dot_size(len(shown.words)),  # pixels of a point
        "word": rings.word,
        "near": near,
        "selected": selected,
        "named": list(dict.fromkeys(named)),
        "others": [id for id in others if id not in named],
        "dimmed": rings.word is not None and not is_small,
        "names": {str(id): _shorten(words[id]) for id in {*named, *others}},
        "regions": [(x, y, _shorten(name, 60)) for x, y, name in regions],
    }


def draw_marks(marks: Sequence[dict[str, Any]], size: int, on_click: Callable[[int], None]) -> None:
    """Draw the marks of charts; `on_click` gets the id of a clicked point, below `size`."""

    def report_click() -> None:
        for id in read_point_ids([{"customdata": st.session_state[MARKS].get("clicked")}], size):
            on_click(id)

    _draw_over_charts(key=MARKS, data=list(marks), height=1, on_clicked_change=report_click)


def _shorten(text: str, max_length: int = MAX_NAME_LENGTH) -> str:
    """Shorten a token for display on a chart, and escape its invisible characters."""
    return escape_invisible(text if len(text) <= max_length else f"{text[: max_length - 1]}…")


def select_by_hand(shown: OpenedProjection, ids: Sequence[int], renew_table: bool = True) -> None:
    """Select tokens by id, instead of a slice.

    renew_table: list them first in the table; not if they were selected there, because a new table
    would lose its place.
    """
    st.session_state["projection_slice"] = None
    st.session_state[BY_HAND] = (shown.spaces[0].stamp, list(ids))
    if renew_table:
        st.session_state[TABLE_TURN] = st.session_state.get(TABLE_TURN, 0) + 1


def clear_selection() -> None:
    """Callback: clear the selection. The browser keeps a chart's selection: the key is changed."""
    st.session_state["projection_slice"] = None
    st.session_state.pop(BY_HAND, None)
    st.session_state["projection_turn"] = st.session_state.get("projection_turn", 0) + 1
    st.session_state[TABLE_TURN] = st.session_state.get(TABLE_TURN, 0) + 1


def read_point_ids(points: Sequence[Mapping[str, Any]], size: int) -> list[int]:
    """Return the distinct ids of the selected points in order; `size`: number of tokens of the
    space.

    The id of a point is in its customdata. Its point number is unique only within its trace.
    """
    found = (_parse_id(point.get("customdata")) for point in points)
    return list(dict.fromkeys(id for id in found if id is not None and 0 <= id < size))


def format_selection(ids: Sequence[int]) -> str:
    """Format a selection for the address; "" if it is empty or too large."""
    return ",".join(map(str, ids)) if len(ids) <= MAX_IN_ADDRESS else ""


def parse_selection(text: str, size: int) -> list[int]:
    """Parse what `format_selection` wrote; invalid parts are ignored."""
    numbers = (
        int(part)
        for part in text.split(",")[:MAX_IN_ADDRESS]
        if part.isascii() and part.isdigit() and len(part) < 10  # isdigit accepts ² and ٣ too
    )
    return list(dict.fromkeys(id for id in numbers if id < size))


def _parse_id(custom: Any) -> int | None:
    """Parse an id in any of its JSON forms: 7, [7], {"0": 7}; return None if it is invalid."""
    if isinstance(custom, Mapping):
        custom = list(custom.values())
    if isinstance(custom, list):
        custom = custom[0] if custom else None
    # A bool is an int in Python: True would become id 1.
    if isinstance(custom, bool) or not isinstance(custom, int | float):
        return None
    return int(custom) if float(custom).is_integer() else None
