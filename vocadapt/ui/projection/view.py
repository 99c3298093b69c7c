"""Main part of the page Projection: chart, searched word with its neighbors, quality, and
selection.
"""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from vocadapt.analysis.figures.projection import Rings, dot_size
from vocadapt.analysis.token_columns import Column
from vocadapt.errors import InputError
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.neighbors.search import find_nearest
from vocadapt.ui.components import pickers, word_links
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.markup import Card, draw_neighbor_cards, format_sentence, plain
from vocadapt.ui.components.number_formats import chance, count, fraction
from vocadapt.ui.components.word_query import draw_word_search
from vocadapt.ui.frame import address
from vocadapt.ui.projection import chart, table
from vocadapt.ui.projection.chart import (
    BY_HAND,
    PICKED,
    format_selection,
    parse_selection,
    read_point_ids,
    select_by_hand,
)
from vocadapt.ui.projection.controls import SetUp, show_neighborhood
from vocadapt.ui.projection.sources import NamedSpace, OpenedProjection, draw_coverage_note

HELP = {
    "trust": (
        "Trustworthiness: 1 if all neighbors on the projection are neighbors in the space;"
        " false neighbors are penalized by their true rank."
    ),
    "kept": (
        "Neighborhood preservation: fraction of a token's nearest neighbors in the space"
        " that are also its nearest on the projection."
    ),
}
CENTER = "projection_center"  # session key: the center of the projection of the last run
Found = list[tuple[int, str, float]]  # id, token, cosine


def draw_projection(
    workspace: Workspace, shown: OpenedProjection, column: Column | None, set_up: SetUp
) -> None:
    """Draw the chart and everything around it. A lasso or a table row reruns the fragment of the
    part; a search or click only the fragment `draw_neighbors`.
    """
    # In a narrow window, the right column moves below the chart (see markup_style).
    with st.container(key="va_stacked_projection"):
        left, right = st.columns([2.6, 1], gap="medium")
    with left:
        view_settings = chart.choose_view_settings(set_up.view, len(shown.spaces), column)
    # 1. The neighbors, then the chart, which zooms in on the word that was found.
    chosen = table.find_selection(workspace, shown, _selected_ids(shown))
    highlights = chart.Highlights()
    with right:
        draw_neighbors(shown, view_settings, chosen.ids, highlights)
    with left:
        chart.draw_charts(
            shown, view_settings, highlights, lambda key: _select_in_lasso(key, shown)
        )
        st.markdown(plain(chart.describe_view(shown)))
        draw_quality(shown)
        draw_coverage_note(column, shown)
    # 2. The selected tokens, and the folded block.
    table.draw_selection(workspace, shown, chosen, column)
    table.draw_details(shown, view_settings, highlights)


@st.fragment
def draw_neighbors(
    shown: OpenedProjection,
    view_settings: chart.ViewSettings,
    selected: Sequence[int],
    highlights: chart.Highlights,
) -> None:
    """Draw the search field, the neighbors and the marks; a search or click reruns only this
    fragment.
    """
    word = _draw_search(shown)
    k = int(
        st.number_input(
            "Nearest", 1, 200, 10, key="projection_near", bind="query-params", width=130
        )
    )
    # 1. The neighbors in the original spaces, as cards.
    found = _find_neighbors(shown, word, k)
    _draw_cards(shown, word, found)
    # 2. The marks of the word, its neighbors and the selection on each chart.
    highlights.rings = [
        _build_rings(shown, one, selected) for one in found or [[]] * len(shown.spaces)
    ]
    size, marks = dot_size(len(shown.words)), []
    places = chart.compute_layouts(shown, view_settings)
    for number, (rings, xy) in enumerate(zip(highlights.rings, places, strict=False)):
        labels = chart.list_region_labels(shown, view_settings, xy)
        marks.append(chart.build_marks(shown, number, size, rings, labels))
    chart.draw_marks(marks, len(shown.space), lambda id: _search(shown.space.words[id]))
    # 3. If the word is outside the visible window, draw the charts again, centered on it.
    if highlights.is_word_out_of_view(shown, view_settings):
        st.rerun()


def _draw_search(shown: OpenedProjection) -> str:
    """Draw the search field, with suggestions; return the word, "" if there is none. The field
    begins with the center of a neighborhood.
    """
    key = "projection_word"
    # Another neighborhood brings its own word, unless the user searched at the same time.
    if shown.center and st.session_state.get(CENTER, shown.center) != shown.center:
        st.session_state[key] = shown.center
    st.session_state[CENTER] = shown.center
    st.session_state.setdefault(key, shown.center)
    words = shown.space.words
    for other in shown.spaces[1:]:
        words = tuple(dict.fromkeys([*words, *other.opened.space.words]))
    found = draw_word_search(key, "Find a token", (), words, shown.spaces[0].opened.splitter)
    if found is None or found.word is None:
        return ""
    return found.word


def draw_quality(shown: OpenedProjection) -> None:
    """Draw how the tokens were chosen, and the quality of the projection compared with chance."""
    pickers.warn_if_crowded(*(space.name for space in shown.spaces))
    draw_note(format_sentence(shown.projection.how))
    for name, picture in zip(shown.spaces, shown.layouts, strict=True):
        found, label, variance = picture.quality, "", ""
        sample = f"n = {count(found.n)}"
        if found.n < found.of:
            sample += f" of {count(found.of)}"
        if len(shown.layouts) > 1:
            label = f"{plain(name.label)}: "
        if picture.projection.explained is not None:
            variance = f" · explained variance **{fraction(picture.projection.explained)}**"
        st.markdown(
            f"{label}trustworthiness **{fraction(found.trustworthiness)}** · neighborhood"
            f" preservation **{fraction(found.preservation)}** (chance"
            f" {chance(found.chance)}){variance} :small[:gray[at {found.k} neighbors, {sample}]]",
            help=f"{HELP['trust']} {HELP['kept']}",
        )


def find_nearest_tokens(space: NamedSpace, word: str, k: int) -> Found:
    """Return a word and its k nearest neighbors by exact cosine in the original space; raise
    InputError if it is missing.
    """
    rows = space.opened.space
    # The word as typed, else in lower case, as in an uncased vocabulary.
    own = rows.index.get(word, rows.index.get(word.lower()))
    if own is None:
        raise InputError(
            f"{word[:100]!r} is not one of the {count(len(rows))} tokens of {space.label}.",
            "Check the spelling.",
        )
    found = find_nearest(rows.matrix[[own]], rows, min(k, len(rows) - 1), leave_out=np.array([own]))
    near = zip(found.rows[0].tolist(), found.scores[0].tolist(), strict=True)
    return [(own, rows.words[own], 1.0), *((row, rows.words[row], score) for row, score in near)]


def _find_neighbors(shown: OpenedProjection, word: str, k: int) -> list[Found] | None:
    """Return the neighbors of a word in each space; None if no word is searched."""
    if not word:
        return None
    found: list[Found] = []
    for space in shown.spaces:
        try:
            found.append(find_nearest_tokens(space, word, k))
        except InputError:
            # The word may be in the other space; the card of this space states that it is missing.
            found.append([])
    return found


def _build_rings(shown: OpenedProjection, found: Found, selected: Sequence[int]) -> Rings:
    """Return the highlighted points: a word and its neighbors in the original space, by their ids
    in the first space.
    """
    if not found:
        return Rings(None, [], selected)
    index = shown.space.index
    near = [index.get(token, -1) for _, token, _ in found[1:]]
    return Rings(index.get(found[0][1]), near, selected)


def _draw_cards(shown: OpenedProjection, word: str, found: Sequence[Found] | None) -> None:
    """Draw the neighbors as one card per space, computed in the original space."""
    if found is None:
        draw_neighbor_cards([])  # loads the component before the first search
        draw_note(
            "Find a token, or click a point: its nearest neighbors in the original space appear"
            " here. To select several tokens, use the lasso tool."
        )
        return
    # 1. Neighbors that all spaces have in common are underlined.
    drawn, cards = frozenset(shown.words), []
    common: frozenset[str] = frozenset()
    if len(found) > 1:
        tokens = [frozenset(token for _, token, _ in one[1:]) for one in found]
        common = frozenset.intersection(*tokens)
    # 2. A card for each space.
    for space, kind, one in zip(shown.spaces, shown.kinds, found, strict=True):
        rows = [(token, score) for _, token, score in one[1:]]
        seen = sum(token in drawn for token, _ in rows)
        note = (
            f"cosine in the space, {count(len(rows))} of {count(len(space.opened.space))} ·"
            f" {seen} on the projection"
        )
        title = f"Nearest to {word}"
        if one:
            title = f"Nearest to {one[0][1]}"
        if len(found) > 1:
            title += f" · {space.label}"
        missing = f"{word[:60]} is not one of its tokens"
        cards.append(Card(title[:80], note, kind, rows, common, missing))
    # 3. The legend, and a button if the word itself is not drawn.
    draw_neighbor_cards(cards, word_links.build_links("projection_word"))
    draw_note("On the projection: ★ the word · ○ its neighbors in the space · □ selected")
    if not found[0]:
        return
    own = found[0][0][1]
    if own not in drawn:
        draw_note(":violet[The word is not on this projection.]")
    if own != shown.center:
        st.button(
            "Project its neighborhood",
            icon=":material/travel_explore:",
            key="project_neighborhood",
            on_click=show_neighborhood,
            args=(own,),
        )


def _selected_ids(shown: OpenedProjection) -> list[int]:
    """Return the selected ids: those of the address, or a large selection of this session."""
    # A selection is valid only in its space: another space has other ids.
    link = address.read_link(PICKED)
    if link:
        st.session_state[BY_HAND] = (shown.spaces[0].stamp, parse_selection(link, len(shown.space)))
    ids: list[int]
    stamp, ids = st.session_state.get(BY_HAND, ("", []))
    if stamp != shown.spaces[0].stamp:
        ids = []
    address.write(PICKED, [format_selection(ids)])
    return ids


def _search(word: str) -> None:
    """Callback: search for the word of a clicked point."""
    st.session_state["projection_word"] = word


def _select_in_lasso(key: str, shown: OpenedProjection) -> None:
    """Callback: select the tokens in a lasso or box."""
    ids = read_point_ids(st.session_state[key]["selection"]["points"], len(shown.space))
    if not ids:
        return
    select_by_hand(shown, ids)
