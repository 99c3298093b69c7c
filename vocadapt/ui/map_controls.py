"""What is put on the map: the spaces, the tokens, which of the finished maps. All of it stands in the address."""

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from vocadapt.lab.workspace import Artefact, Workspace
from vocadapt.settings import limits
from vocadapt.spaces.choosing import BANDS, TokenChoice
from vocadapt.ui import choose, map_sources
from vocadapt.ui.map_sources import Named
from vocadapt.ui.markup import plain

AT_ONCE = "PCA, at once"
LAST = "map_last"  # in the session: the last map of the spaces when the page was drawn before
NONE = "no other"
THESIS = TokenChoice()
WAYS = ("first", "frequency", "search", "around a word")
EXAMPLE = "cancer"  # figure 3.6 of the thesis
HELP = {
    "view": "The principal components are drawn at once. t-SNE and UMAP take a while: make such a map once, and it stays here.",
    "other": "The same tokens in a second space, laid over the first: what moved, and what stayed.",
    "example": "The neighbourhood of *cancer*, as in figure 3.6 of the thesis.",
}


def pick_spaces(workspace: Workspace) -> tuple[Named, ...]:
    """Choose a space, and another to compare it with; empty while there is none.

    The spaces of the newest map come first; without a map, the newest model.
    """
    known = choose.spaces_of(workspace)
    drawn = _newest_drawn(workspace, known)
    model = next((place for place, label in enumerate(known) if label.startswith("model")), 0)
    if len(drawn) > 1 and "space" not in st.query_params and "space" not in st.session_state:
        choose.begin_unset("other", drawn[1])
    first = choose.pick_space(workspace, "Space", "space", default=list(known).index(drawn[0]) if drawn else model)
    if not first:
        return ()
    labels = [NONE, *(label for label, name in known.items() if name != first)]
    other = st.selectbox(
        "Compare with", labels, key="other", bind="query-params", accept_new_options=True, help=HELP["other"]
    )  # fmt: skip
    chosen = [first, *([known.get(str(other), str(other))] if other and other != NONE else [])]
    shown = {name: label for label, name in known.items()}
    return tuple(Named(shown.get(name, choose.shown_model(name)), name) for name in chosen)


def _newest_drawn(workspace: Workspace, known: Mapping[str, str]) -> list[str]:
    """The spaces of the newest map by the name they are shown under; none where one of them is not known."""
    folders = {Path(name).resolve(): label for label, name in known.items()}
    newest = workspace.artefacts("maps")[:1]
    found = [folders.get(folder, "") for made in newest for folder in map_sources.folders_of(workspace, made)]
    return found if all(found) else []


def pick_view(made: list[Artefact]) -> Artefact | None:
    """Choose which map of the spaces is looked at: the last one that was made, or the one drawn at once (None).

    A map that a job has just finished, and the last one of spaces just chosen, are shown without being asked for.
    """
    names = {AT_ONCE: None, **{artefact.name: artefact for artefact in made}}
    last = made[0].name if made else AT_ONCE
    is_news = st.session_state.get(LAST, last) != last
    st.session_state[LAST] = last
    if is_news or st.session_state.get("view", st.query_params.get("view")) not in names:
        choose.begin_with("view", last)
    chosen = st.selectbox("Map", list(names), index=None, key="view", bind="query-params", help=HELP["view"])
    return names.get(str(chosen))


def pick_tokens(view: Artefact | None = None) -> TokenChoice:
    """Widgets of a choice of tokens; the thesis' filter is filled in. Raises InputError for a choice that cannot be.

    `view`: the finished map that is looked at; it has its own tokens.
    """
    if view:
        st.markdown(f":small[{plain(view.name)} keeps its own tokens: these are of PCA, and of the next map you make.]")
    way = st.segmented_control(
        "Tokens", WAYS, default=WAYS[0], required=True, key="tokens", bind="query-params", label_visibility="collapsed"
    )  # fmt: skip
    values: dict[str, object] = {}
    if way == "around a word":
        left, right = st.columns(2)
        values["around"] = left.text_input("Around the word", EXAMPLE, key="around", bind="query-params").strip()
        values["nearest"] = int(right.number_input(
            "Its nearest", *limits(THESIS, "nearest"), THESIS.nearest, key="nearest", bind="query-params",
        ))  # fmt: skip
    else:
        if way == "search":
            values["search"] = st.text_input("Tokens that hold", key="holding", bind="query-params")
        if way == "frequency":
            left, middle, right = st.columns(3)
            values["band"] = left.selectbox("Band of", BANDS, key="band", bind="query-params")
            values["low"] = int(middle.number_input(
                "from", *limits(THESIS, "low"), 0, key="from", bind="query-params",
            ))  # fmt: skip
            values["high"] = int(right.number_input(
                "to (0: open)", *limits(THESIS, "high"), 0, key="to", bind="query-params",
            ))  # fmt: skip
        bounds = limits(THESIS, "first")
        most = st.number_input("The first", *bounds, THESIS.first, 1000, key="first", bind="query-params", help="0: all.")
        values["first"] = int(most)
    return TokenChoice(**values, **_filters())  # type: ignore[arg-type]


def show_example() -> None:
    """Callback: the neighbourhood of the example."""
    st.session_state.update({"view": AT_ONCE, "tokens": WAYS[3], "around": EXAMPLE, "nearest": THESIS.nearest, "word": EXAMPLE})


def _filters() -> dict[str, object]:
    bounds = limits(THESIS, "min_length")
    length = st.number_input("Shortest, in characters", *bounds, THESIS.min_length, key="shortest", bind="query-params",
                             help="Counted without ##. 4: longer than three, as in the thesis.")  # fmt: skip
    with st.container(horizontal=True):
        return {
            "min_length": int(length),
            "continuations": st.toggle("Pieces (##)", key="pieces", bind="query-params"),
            "specials": st.toggle("Special tokens", key="specials", bind="query-params"),
            "unused": st.toggle("[unused]", key="unused", bind="query-params"),
        }
