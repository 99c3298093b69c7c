"""The part Projection: the tokens of one or two spaces in two dimensions, the neighbors of a token,
regions of the picture, and how tokens moved between two spaces.
"""

from collections.abc import Sequence

import streamlit as st

from vocadapt.analysis.figures.projection import Rings, dot_size
from vocadapt.analysis.token_columns import Column
from vocadapt.lab.steps.projection import ProjectionStep
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
from vocadapt.ui.parts.projection import chart, controls, isolation, sources, table
from vocadapt.ui.parts.projection.chart import (
    BY_HAND,
    PICKED,
    format_selection,
    parse_selection,
    read_point_ids,
    select_by_hand,
)
from vocadapt.ui.parts.projection.controls import SetUp, show_neighborhood
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
    # 1. The row of controls. The projections and colors depend on what is set up after them.
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        first, default_other = controls.pick_first_space(workspace)
    if not first:
        pickers.draw_empty_state(
            "There is no space to project yet.",
            (
                "A projection needs word vectors of your domain or a language model: make"
                " vectors, or choose a model above."
            ),
            "vectors",
        )
        return
    with row:
        view_place = st.container(width=220)
        color_place = st.container(width=220)
        set_up = controls.open_set_up()
        isolated_place = st.container(width="content")
    spaces = controls.pick_spaces(workspace, first, default_other, set_up)
    with view_place:
        view = controls.pick_projection(sources.list_projections(workspace, spaces))
    isolated = isolation.read_isolated(workspace, spaces[0])
    with isolated_place:
        isolation.draw_show_all(isolated)
    with set_up.tokens:
        examples = sources.choose_example_words(workspace, spaces[0])
        controls.explain_tokens(view, isolated)
        settings = controls.pick_settings(examples, spaces[0], isolated)

    # 2. The projection: a saved one, or PCA of the selected tokens; its colors and settings.
    if view:
        pickers.warn_if_stale(view, workspace)
        shown = sources.open_saved(spaces, view)
    else:
        shown = sources.project_now(spaces, settings)
    with color_place:
        column = sources.pick_color(workspace, shown)
    _draw_forms(workspace, spaces, settings, set_up)

    # 3. The chart and everything around it.
    draw_projection(workspace, shown, column, set_up)


def _draw_forms(
    workspace: Workspace,
    spaces: tuple[sources.NamedSpace, ...],
    settings: ProjectionStep,
    set_up: SetUp,
) -> None:
    """Draw the forms of a new projection and of the user's own files, in their tabs."""
    with set_up.new, mistakes.show_errors():
        n_tokens = sources.count_tokens(spaces, settings)
        controls.draw_form(workspace, spaces, settings, n_tokens)
    with set_up.files:
        with mistakes.show_errors():
            sources.draw_upload_table(workspace)
        with mistakes.show_errors():
            controls.draw_layout_form(workspace, spaces[0])


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
    search = _draw_search(shown)
    with st.container(horizontal=True):
        k = draw_linked_setting(ListSettings, "k", "projection_near", most=200, width=130)
        metric = draw_linked_setting(ListSettings, "metric", "projection_measure", buttons=True)
    # 1. The neighbors in the original spaces, as cards; those of a formula in the first space.
    settings, word = ListSettings(k, metric), search.word or ""
    found = _find_neighbors(shown, word, settings)
    if search.formula is None:
        _draw_cards(shown, word, found, settings)
    else:
        with mistakes.show_errors():
            card = build_formula_card(search.formula, shown.space, k)
            draw_neighbor_cards([card], word_links.build_links(WORD))
            found = [list(card.rows)] * len(shown.spaces)
    # 2. The marks of the word, its neighbors and the selection on each chart.
    highlights.rings = [_build_rings(shown, word, near, selected) for near in found]
    size, marks = dot_size(len(shown.words)), []
    places = chart.compute_layouts(shown, view_settings)
    for number, (rings, xy) in enumerate(zip(highlights.rings, places, strict=False)):
        labels = chart.list_region_labels(shown, view_settings, xy)
        marks.append(chart.build_marks(shown, number, size, rings, labels))
    chart.draw_marks(marks, len(shown.space), lambda id: _search(shown.space.words[id]))
    # 3. If the word is outside the visible window, draw the charts again, centered on it.
    if highlights.is_word_out_of_view(shown, view_settings):
        st.rerun()


def _draw_search(shown: OpenedProjection) -> WordSearch:
    """Draw the search field, with suggestions, and return the search. The center of a neighborhood
    is its initial value.
    """
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
    """Return the highlighted points: a word and its neighbors in the original space, by their ids
    in the first space.
    """
    if near is None:
        return Rings(None, [], selected)
    index = shown.space.index
    return Rings(index.get(word), [index.get(token, -1) for token, _ in near], selected)


def _draw_cards(
    shown: OpenedProjection, word: str, found: NeighborsBySpace, settings: ListSettings
) -> None:
    """Draw the neighbors as one card per space, computed in the original space."""
    if not word:
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
        common = frozenset.intersection(*(frozenset(dict(near or ())) for near in found))
    # 2. A card for each space.
    for space, kind, near in zip(shown.spaces, shown.kinds, found, strict=True):
        rows = near or []
        seen = sum(token in drawn for token, _ in rows)
        note = (
            f"{METRICS[settings.metric]} in the space, {count(len(rows))} of"
            f" {count(len(space.opened.space))} · {seen} on the projection"
        )
        title = f"Nearest to {word}"
        if len(found) > 1:
            title += f" · {space.label}"
        missing = f"{word[:60]} is not one of its tokens"
        scores = settings.score_kind
        random_cosine = find_random_cosine(settings, space.opened.space)
        cards.append(
            Card(
                title[:80],
                note,
                kind,
                rows,
                common,
                missing,
                scores,
                random_cosine=random_cosine,
            )
        )
    # 3. The legend, and a button if the word itself is not drawn.
    draw_neighbor_cards(cards, word_links.build_links(WORD))
    draw_note("On the projection: ★ the word · ○ its neighbors in the space · □ selected")
    if found[0] is None:
        return
    if word not in drawn:
        draw_note(":violet[The word is not on this projection.]")
    if word != shown.center:
        st.button(
            "Project its neighborhood",
            icon=":material/travel_explore:",
            key="project_neighborhood",
            on_click=show_neighborhood,
            args=(word, settings.metric),
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
    st.session_state[WORD] = word


def _select_in_lasso(key: str, shown: OpenedProjection) -> None:
    """Callback: select the tokens in a lasso or box."""
    ids = read_point_ids(st.session_state[key]["selection"]["points"], len(shown.space))
    if not ids:
        return
    select_by_hand(shown, ids)
