"""Main part of the page Projection: chart, searched word with its neighbors, quality, and
selection.
"""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from vocadapt.analysis.figures.projection import Rings, dot_size
from vocadapt.errors import InputError
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.neighbors.search import find_nearest
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.markup import Card, neighbor_cards, plain
from vocadapt.ui.components.number_formats import count, fraction
from vocadapt.ui.frame import address, mistakes
from vocadapt.ui.projection import chart, export, marks, table
from vocadapt.ui.projection.colors import matched, pick_color, take_table
from vocadapt.ui.projection.selection import (
    BY_HAND,
    PICKED,
    clear_manual_selection,
    from_address,
    ids_of,
    to_address,
)
from vocadapt.ui.projection.sources import Named, Shown

HELP = {
    "trust": (
        "Trustworthiness: 1 if all neighbors on the projection are neighbors in the space;"
        " false neighbors are penalized by their true rank."
    ),
    "kept": (
        "Neighborhood preservation: fraction of a token's nearest neighbors in the space"
        " that are also its nearest on the projection."
    ),
    "find": "Finds a token and its neighbors; or click a point of the projection.",
}
Found = list[tuple[int, str, float]]  # id, token, cosine


@st.fragment
def explore(workspace: Workspace, shown: Shown) -> None:
    """Draw the chart and everything around it; a lasso reruns this fragment only, a search or click
    only `near`.
    """
    left, right = st.columns([2.5, 1], gap="medium")
    with left, st.container(horizontal=True, vertical_alignment="bottom"):
        column = pick_color(workspace, shown)
        with (
            st.popover(
                "Table", icon=":material/upload_file:", help="Colors tokens by your own table."
            ),
            mistakes.shown(),
        ):
            take_table(workspace)
        look = chart.Look(column, *chart.ask_look(shown))
    chosen, standing = table.selected(workspace, shown, _picked(shown)), chart.Standing()
    with right:
        near(shown, look, chosen.ids, standing)
    with left:
        chart.draw(shown, look, standing, lambda key: _drawn_round(key, shown))
        quality(shown)
        matched(column, shown)
    table.show(workspace, shown, chosen, column, clear)
    export.details(shown, look, standing)


@st.fragment
def near(shown: Shown, look: chart.Look, selected: Sequence[int], standing: chart.Standing) -> None:
    """Draw the search field, the neighbors and the marks; a search or click reruns only this
    fragment.
    """
    word, k = _ask_word()
    found = _found(shown, word, k)
    _cards(shown, word, k, found)
    standing.rings = [_rings(shown, one, selected) for one in found or [[]] * len(shown.spaces)]
    size = dot_size(len(shown.words))
    charts = [
        marks.marks(shown, chart.key_of(number), size, rings, chart.regions(shown, look, xy))
        for number, (rings, xy) in enumerate(
            zip(standing.rings, chart.places_of(shown, look), strict=False)
        )
    ]
    marks.draw(charts, len(shown.space), lambda id: _ask_for(shown.space.words[id]))
    if standing.out_of_sight(shown, look):
        st.rerun()


def quality(shown: Shown) -> None:
    """Show which tokens are drawn, and the quality of the projection compared with chance."""
    pickers.crowded_note(*(space.name for space in shown.spaces))
    st.markdown(f"**{plain(shown.map.how)}**")
    for name, picture in zip(shown.spaces, shown.pictures, strict=True):
        judged, of = picture.quality, f"n = {count(picture.quality.n)}"
        of += f" of {count(judged.of)}" if judged.n < judged.of else ""
        label = f"{plain(name.label)}: " if len(shown.pictures) > 1 else ""
        kept = picture.projection.explained
        variance = f" · variance kept **{fraction(kept)}**" if kept is not None else ""
        st.markdown(
            f"{label}trustworthiness **{fraction(judged.trustworthiness)}** · neighborhood"
            f" preservation **{fraction(judged.preservation)}** (chance"
            f" {fraction(judged.chance)}){variance} :small[:gray[at {judged.k} neighbors, {of}]]",
            help=f"{HELP['trust']} {HELP['kept']}",
        )


def neighbors(space: Named, word: str, k: int) -> Found:
    """Return a word and its k nearest neighbors by exact cosine in the original space; raise
    InputError if it is missing.
    """
    rows = space.opened.space
    own = rows.index.get(word, rows.index.get(word.lower()))
    if own is None:
        raise InputError(
            f"{word[:100]!r} is not one of the {len(rows):,} tokens of {space.label}.",
            "Check the spelling.",
        )
    found = find_nearest(rows.matrix[[own]], rows, min(k, len(rows) - 1), leave_out=np.array([own]))
    near = zip(found.rows[0].tolist(), found.scores[0].tolist(), strict=True)
    return [(own, rows.words[own], 1.0), *((row, rows.words[row], score) for row, score in near)]


def clear() -> None:
    """Callback: clear the selection; a new chart key makes the browser forget it."""
    _let_go()
    st.session_state["projection_turn"] = st.session_state.get("projection_turn", 0) + 1


def _ask_word() -> tuple[str, int]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        word = st.text_input(
            "Find a token",
            key="projection_word",
            bind="query-params",
            placeholder="cancer",
            help=HELP["find"],
        )
        k = int(
            st.number_input(
                "Nearest", 1, 200, 10, key="projection_near", bind="query-params", width=110
            )
        )
    return word.strip(), k


def _found(shown: Shown, word: str, k: int) -> list[Found] | None:
    """Return the neighbors of a word in each space; None if no word is searched."""
    if not word:
        return None
    found: list[Found] = []
    for space in shown.spaces:
        try:
            found.append(neighbors(space, word, k))
        except InputError:
            found.append([])
    return found


def _rings(shown: Shown, found: Found, selected: Sequence[int]) -> Rings:
    """Return the highlighted points: a word and its neighbors in the original space, by their ids
    in the first space.
    """
    index = shown.space.index
    own, near = (
        [index.get(token) for _, token, _ in found[:1]],
        [index.get(token, -1) for _, token, _ in found[1:]],
    )
    return Rings(own[0] if own else None, near, selected)


def _cards(shown: Shown, word: str, k: int, found: Sequence[Found] | None) -> None:
    """Draw the neighbors as one card per space, computed in the original space."""
    if found is None:
        neighbor_cards([])  # the browser fetches what draws cards now, not with the first word
        draw_note(
            "Find a token, or click a point: its nearest neighbors in the"
            " original space appear here. To select many, use the lasso tool."
        )
        return
    on_map, cards = frozenset(shown.words), []
    both = (
        frozenset.intersection(*(frozenset(token for _, token, _ in one[1:]) for one in found))
        if len(found) > 1
        else ()
    )
    for space, kind, one in zip(shown.spaces, shown.kinds, found, strict=True):
        rows = [(token, score) for _, token, score in one[1:]]
        seen = sum(token in on_map for token, _ in rows)
        note = (
            f"cosine in the space, {count(len(rows))} of {count(len(space.opened.space))} ·"
            f" {seen} on the projection"
        )
        title = f"Nearest to {one[0][1]}" if one else f"Nearest to {word}"
        title = f"{title} · {space.label}" if len(found) > 1 else title
        missing = f"{word[:60]} is not one of its tokens"
        cards.append(Card(title[:80], note, kind, rows, frozenset(both), missing))
    neighbor_cards(cards)
    draw_note("On the projection: ★ the word · ○ its neighbors in the space · □ selected")
    if found[0] and found[0][0][1] not in on_map:
        st.markdown(
            ":small[:violet[The word is not on this projection: select other tokens, or"
            " project its neighborhood.]]"
        )


def _picked(shown: Shown) -> list[int]:
    """Return the selected ids: those of the address, or a large selection of this session."""
    if link := address.read_link(PICKED):
        st.session_state[BY_HAND] = (shown.spaces[0].stamp, from_address(link, len(shown.space)))
    stamp, ids = st.session_state.get(BY_HAND, ("", []))
    ids = ids if stamp == shown.spaces[0].stamp else []
    address.write(PICKED, [to_address(ids)])
    return ids


def _ask_for(word: str) -> None:
    """Callback: search the word of a clicked point."""
    st.session_state["projection_word"] = word


def _drawn_round(key: str, shown: Shown) -> None:
    """Callback: select the tokens in a lasso or box."""
    ids = ids_of(st.session_state[key]["selection"]["points"], len(shown.space))
    if not ids:
        return
    _let_go()
    st.session_state[BY_HAND] = (shown.spaces[0].stamp, ids)


def _let_go() -> None:
    """Clear the selected slice and the manual selection."""
    st.session_state["projection_slice"] = None
    clear_manual_selection()
