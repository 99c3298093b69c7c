"""Overlay of the charts: the searched word, its neighbors, the selection, region names; and clicks
on points.

They are no part of plotly's figure, which takes a browser half a second or more to redraw: see
marks.js.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import streamlit as st

from vocadapt.analysis.figures.projection import MAX_NAME_LENGTH, NAMED, Rings
from vocadapt.ui.components.markup import escape_invisible
from vocadapt.ui.projection.selection import ids_of
from vocadapt.ui.projection.sources import Shown

KEY = "projection_marks"
_over = st.components.v2.component(
    "vocadapt_projection_marks",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


@dataclass(frozen=True)
class Marks:
    """Marks of a chart, by token ids: the word, its neighbors, the selection; names by id; (x, y,
    name) of regions.

    `chart` is the key of the chart, `size` the pixels of its points.
    """

    chart: str
    size: float
    word: int | None
    near: Sequence[int]
    selected: Sequence[int]
    names: Mapping[str, str]
    regions: Sequence[tuple[float, float, str]]


def marks(
    shown: Shown, chart: str, size: float, rings: Rings, regions: Sequence[tuple[float, float, str]]
) -> Marks:
    """Build the marks of a chart; names are escaped, because a canvas shows text literally."""
    named = [
        *([] if rings.word is None else [rings.word]),
        *[id for id in rings.near if id >= 0][:NAMED],
    ]
    names = {str(id): short(shown.space.words[id]) for id in named}
    near, selected = [int(id) for id in rings.near], [int(id) for id in rings.selected]
    return Marks(
        chart,
        size,
        rings.word,
        near,
        selected,
        names,
        [(x, y, short(name, 60)) for x, y, name in regions],
    )


def draw(charts: Sequence[Marks], size: int, on_click: Callable[[int], None]) -> None:
    """Draw the marks of charts; `on_click` is called with the id of a clicked point, less than
    `size`.
    """
    _over(
        key=KEY,
        data=[asdict(one) for one in charts],
        height=1,
        on_clicked_change=lambda: _clicked(size, on_click),
    )


def short(text: str, longest: int = MAX_NAME_LENGTH) -> str:
    """Return a token for display on a chart: invisible characters escaped, long ones shortened."""
    return escape_invisible(text if len(text) <= longest else f"{text[: longest - 1]}…")


def _clicked(size: int, on_click: Callable[[int], None]) -> None:
    """Callback: validate the clicked id sent by the browser."""
    for id in ids_of([{"customdata": st.session_state[KEY].get("clicked")}], size):
        on_click(id)
