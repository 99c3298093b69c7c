"""Isolated tokens: a selection that alone is projected, until all tokens are shown again."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.workspace.slices import load_slice
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.projection.methods import MIN_TOKENS
from vocadapt.ui.parts.projection.chart import format_selection, parse_selection
from vocadapt.ui.parts.projection.sources import UNSAVED_PCA, NamedSpace
from vocadapt.ui.state import address
from vocadapt.ui.text.number_formats import count

ONLY = "projection_only"  # query parameter: ids, or SLICE and the id of a slice
SLICE = "slice:"
ISOLATED = "projection_isolated"  # session key: an Isolated


@dataclass(frozen=True)
class Isolated:
    """Tokens that alone are projected.

    stamp: of their space; in another space they do not apply. link: their value in the address, ""
    if there are too many. view: the projection that was shown before.
    """

    stamp: str
    tokens: tuple[str, ...]
    link: str = ""
    view: str = ""


def read_isolated(workspace: Workspace, space: NamedSpace) -> Isolated | None:
    """Return the isolated tokens of the address or the session; None if all tokens are shown."""
    link = address.read_link(ONLY)
    if link:
        tokens = _find_linked(workspace, space, link)
        st.session_state[ISOLATED] = Isolated(space.stamp, tokens, link)
    isolated = st.session_state.get(ISOLATED)
    if isolated is not None and (isolated.stamp != space.stamp or not isolated.tokens):
        isolated = None
    address.write(ONLY, [isolated.link] if isolated else [])
    return isolated


def _find_linked(workspace: Workspace, space: NamedSpace, link: str) -> tuple[str, ...]:
    """Return the tokens that an address names; invalid parts are ignored."""
    words = space.opened.space.words
    if not link.startswith(SLICE):
        return tuple(words[id] for id in parse_selection(link, len(words)))
    with suppress(InputError):  # a deleted slice
        return load_slice(workspace, link.removeprefix(SLICE)).tokens
    return ()


def draw_isolate_button(space: NamedSpace, ids: Sequence[int], slice: str = "") -> None:
    """Draw the button that makes the selected tokens the projection's tokens.

    slice: id of the slice that is selected, "" if the tokens were selected by hand.
    """
    st.button(
        "Show only these",
        icon=":material/filter_center_focus:",
        key="isolate",
        disabled=len(ids) < MIN_TOKENS,
        on_click=_isolate,
        args=(space, tuple(ids), slice),
        help=(
            "Projects the selected tokens alone, by PCA. For a t-SNE of them, make a new projection"
            f" under Set up. Needs at least {MIN_TOKENS} tokens."
        ),
    )


def draw_show_all(isolated: Isolated | None) -> None:
    """Draw the button that ends an isolation, if there is one."""
    if isolated is None:
        return
    st.button(
        f"Show all again · now {count(len(isolated.tokens))}",
        icon=":material/zoom_out_map:",
        key="show_all",
        on_click=_show_all,
        args=(isolated,),
    )


def _isolate(space: NamedSpace, ids: tuple[int, ...], slice: str) -> None:
    """Callback: project the selected tokens alone."""
    words = space.opened.space.words
    link = f"{SLICE}{slice}" if slice else format_selection(ids)
    view = str(st.session_state.get("projection_view", ""))
    # Of several isolations in a row, the last button returns to the first projection.
    earlier = st.session_state.get(ISOLATED)
    if earlier is not None and earlier.stamp == space.stamp:
        view = earlier.view
    tokens = tuple(words[id] for id in ids)
    st.session_state[ISOLATED] = Isolated(space.stamp, tokens, link, view)
    st.session_state["projection_view"] = UNSAVED_PCA


def _show_all(isolated: Isolated) -> None:
    """Callback: show the projection from before the isolation."""
    st.session_state.pop(ISOLATED, None)
    if isolated.view:
        st.session_state["projection_view"] = isolated.view
