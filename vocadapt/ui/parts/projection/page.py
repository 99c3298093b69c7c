"""The part Projection: the tokens of one or two spaces in two dimensions, the neighbors of a token,
regions of the picture, and how tokens moved between two spaces.
"""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from vocadapt.analysis.figures.projection import Rings
from vocadapt.analysis.token_columns import Column
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.alignment.cross_space import ListSettings
from vocadapt.spaces.neighbors.search import METRICS, NeighborList, list_neighbors
from vocadapt.text.word_search import WordSearch
from vocadapt.ui.components import mistakes, pickers, word_links
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.setting_inputs import draw_linked_setting
from vocadapt.ui.components.word_query import (
    build_formula_card,
    draw_word_search,
    find_random_cosine,
)
from vocadapt.ui.parts.projection import chart, controls, sources, table
from vocadapt.ui.parts.projection.chart import (
    BY_HAND,
    PICKED,
    format_selection,
    parse_selection,
    select_by_hand,
)
from vocadapt.ui.parts.projection.controls import show_neighborhood
from vocadapt.ui.parts.projection.sources import OpenedProjection, draw_coverage_note
from vocadapt.ui.state import address
from vocadapt.ui.text.markup import Card, draw_neighbor_cards, format_sentence, plain
from vocadapt.ui.text.number_formats import chance, count, fraction

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
WORD = "projection_word"
CENTER = "projection_center"  # session key: the center of the projection of the last run
NeighborsBySpace = list[NeighborList | None]  # None for a space that lacks the word


@st.fragment
@mistakes.show_errors()
def draw(workspace: Workspace) -> None:
    """Draw the controls, forms and chart; a control reruns only this fragment, not the page."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        first, default_other = controls.pick_first_space(workspace)
    if not first:
        pickers.draw_empty_state(
            "There is no space to project yet.",
            "Make word vectors of your domain, or choose a model above.",
            "vectors",
        )
        return
    _draw_space(workspace, row, first, default_other)


def _draw_space(workspace: Workspace, row: DeltaGenerator, first: str, default_other: str) -> None:
    """Draw what depends on the first space; default_other: display name of the second one."""
    # 1. The row of controls. The projections and colors depend on what is set up after them.
    with row:
        view_place = st.container(width=220)
        color_place = st.container(width=220)
        tokens_tab, view_tab, new_tab, files_tab = controls.open_set_up()
        isolated_place = st.container(width="content")
    spaces = controls.pick_spaces(workspace, first, default_other, view_tab)
    with view_place:
        view = controls.pick_projection(sources.list_projections(workspace, spaces))
    with isolated_place:
        isolated = table.read_isolated(workspace, spaces[0])
    with tokens_tab:
        if view:
            draw_note(f"{plain(view.name)} has its own tokens: these apply to other projections.")
        settings = controls.pick_settings(workspace, spaces[0], isolated)

    # 2. The projection: a saved one, or PCA of the selected tokens; its colors and settings.
    if view:
        shown = sources.open_saved(workspace, spaces, view)
    else:
        shown = sources.project_now(spaces, settings)
    with color_place:
        column = sources.pick_color(workspace, shown)
    with new_tab, mistakes.show_errors():
        controls.draw_form(workspace, spaces, settings)
    with files_tab:
        sources.draw_upload_table(workspace)
        controls.draw_layout_form(workspace, spaces[0])
    # 3. The chart and everything around it.
    draw_projection(workspace, shown, column, view_tab)


def draw_projection(
    workspace: Workspace, shown: OpenedProjection, column: Column | None, view_tab: DeltaGenerator
) -> None:
    """Draw the chart and everything around it. A lasso or a table row reruns the fragment of the
    part; a search or click only the fragment `draw_neighbors`.
    """
    # In a narrow window, the right column moves below the chart (see markup_style).
    with st.container(key="va_stacked_projection"):
        left, right = st.columns([2.6, 1], gap="medium")
    with left:
        view_settings = chart.choose_view_settings(view_tab, len(shown.spaces), column)
    # 1. The neighbors, then the chart, which zooms in on the word that was found.
    chosen = table.find_selection(workspace, shown, _selected_ids(shown))
    rings: list[Rings] = []  # the highlighted points of each space, set by each search
    with right:
        draw_neighbors(shown, view_settings, chosen.ids, rings)
    with left:
        chart.draw_charts(shown, view_settings, rings)
        st.markdown(plain(chart.describe_view(shown)))
        draw_quality(shown)
        draw_coverage_note(column, shown)
    # 2. The selected tokens, and the folded block.
    table.draw_selection(workspace, shown, chosen, column)
    table.draw_details(shown, view_settings, rings)


@st.fragment
def draw_neighbors(
    shown: OpenedProjection,
    view_settings: chart.ViewSettings,
    selected: Sequence[int],
    rings: list[Rings],
) -> None:
    """Draw search, neighbors and marks, and set `rings`; a search reruns only this fragment."""
    search = _draw_search(shown)
    with st.container(horizontal=True):
        k = draw_linked_setting(ListSettings, "k", "projection_near", most=200, width=130)
        metric = draw_linked_setting(ListSettings, "metric", "projection_measure", buttons=True)
    # 1. The neighbors in the original spaces, as cards; those of a formula in the first space.
    settings = ListSettings(k, metric)
    word = search.word or ""
    found = _find_neighbors(shown, word, settings)
    if search.formula is None:
        _draw_cards(shown, word, found, settings)
    else:
        with mistakes.show_errors():
            card = build_formula_card(search.formula, shown.space, k)
            draw_neighbor_cards([card], word_links.build_links(WORD))
            found = [list(card.rows)] * len(shown.spaces)
    # 2. The marks of the word, its neighbors and the selection on each chart.
    last = list(rings)
    rings[:] = [_build_rings(shown, word, near, selected) for near in found]
    words = shown.space.words
    marks = [
        chart.build_marks(shown, view_settings, number, rings[number])
        for number in range(len(chart.compute_layouts(shown, view_settings)))
    ]
    chart.draw_marks(marks, len(words), lambda id: st.session_state.update({WORD: words[id]}))
    # 3. Draw zoomed charts again, centered on another word.
    if last and view_settings.zoom > 1 and last[0].word != rings[0].word:
        st.rerun()


def _draw_search(shown: OpenedProjection) -> WordSearch:
    """Draw the search field; its initial value is the center of a neighborhood."""
    # Another neighborhood replaces the searched word by its center.
    if shown.center and st.session_state.get(CENTER, shown.center) != shown.center:
        st.session_state[WORD] = shown.center
    st.session_state[CENTER] = shown.center
    st.session_state.setdefault(WORD, shown.center)
    words = shown.space.words
    for other in shown.spaces[1:]:
        words = tuple(dict.fromkeys([*words, *other.opened.space.words]))
    splitter = shown.spaces[0].opened.splitter
    found = draw_word_search(WORD, "Find a token", (), words, splitter, formulas=True)
    if found is None:
        return WordSearch("")
    if found.matches:
        ids = [shown.space.index[word] for word in found.matches if word in shown.space]
        if st.button(f"Select all {count(len(ids))}", icon=":material/select_all:", key="matches"):
            select_by_hand(shown, ids)
            st.rerun()
    return found


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


def _find_neighbors(shown: OpenedProjection, word: str, settings: ListSettings) -> NeighborsBySpace:
    """Return the neighbors of a word in each space; None for a space that lacks the word."""
    found: NeighborsBySpace = []
    for one in shown.spaces:
        space = one.opened.space
        near = None
        if word in space:
            near = list_neighbors(space, space[word], settings.k, settings.metric, word)
        found.append(near)
    return found


def _build_rings(
    shown: OpenedProjection, word: str, near: NeighborList | None, selected: Sequence[int]
) -> Rings:
    """Return the points of a word and of its neighbors in a space, by ids in the first space."""
    if near is None:
        return Rings(None, [], selected)
    index = shown.space.index
    return Rings(index.get(word), [index.get(token, -1) for token, _ in near], selected)


def _draw_cards(
    shown: OpenedProjection, word: str, found: NeighborsBySpace, settings: ListSettings
) -> None:
    """Draw the neighbors as one card per space, and a button if the word is not the center."""
    if not word:
        draw_neighbor_cards([])  # loads the component before the first search
        draw_note(
            "Find a token, or click a point: its nearest neighbors in the original space appear"
            " here. To select several tokens, use the lasso tool."
        )
        return
    draw_neighbor_cards(_build_cards(shown, word, found, settings), word_links.build_links(WORD))
    draw_note("On the projection: ★ the word · ○ its neighbors in the space · □ selected")
    if found[0] is None:
        return
    if word not in shown.words:
        draw_note(":violet[The word is not on this projection.]")
    if word != shown.center:
        st.button(
            "Project its neighborhood",
            icon=":material/travel_explore:",
            key="project_neighborhood",
            on_click=show_neighborhood,
            args=(word, settings.metric),
        )


def _build_cards(
    shown: OpenedProjection, word: str, found: NeighborsBySpace, settings: ListSettings
) -> list[Card]:
    """Build the card of each space; neighbors that all spaces have in common are underlined."""
    drawn = frozenset(shown.words)
    cards = []
    common: frozenset[str] = frozenset()
    if len(found) > 1:
        common = frozenset.intersection(*(frozenset(dict(near or ())) for near in found))
    for named, kind, near in zip(shown.spaces, shown.kinds, found, strict=True):
        space = named.opened.space
        rows = near or []
        seen = sum(token in drawn for token, _ in rows)
        note = (
            f"{METRICS[settings.metric]} in the space, {count(len(rows))} of {count(len(space))} ·"
            f" {seen} on the projection"
        )
        title = f"Nearest to {word}"
        if len(found) > 1:
            title += f" · {named.label}"
        card = Card(
            title[:80],
            note,
            kind,
            rows,
            common,
            f"{word[:60]} is not one of its tokens",
            settings.score_kind,
            random_cosine=find_random_cosine(settings, space),
        )
        cards.append(card)
    return cards


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
