"""The address of a page: what its pickers show stands there, so that a link opens the same artefacts later.

A setting's key, which is its name in the address, begins with the name of its page (`map_space`); only the workspace belongs to
all pages. Simple settings are bound by Streamlit. Pickers of artefacts, models and spaces are not, for three reasons: Streamlit
leaves a default out of the address, it opens whatever an address names, and a value that the server sets may be lost there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

WORKSPACE = "workspace"  # the picker's key, and its name in the address
GOING = "going_to"  # in the session: the page that is opened next, and its address
_history = st.components.v2.component(
    "vocadapt_address", js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"), isolate_styles=False
)


def here() -> dict[str, str]:
    """The part of the address that names the workspace, for links that bring an address of their own."""
    return {WORKSPACE: st.query_params[WORKSPACE]} if WORKSPACE in st.query_params else {}


def keep_history() -> None:
    """Let Back leave a page, however often its address was changed by the server."""
    _history(key="address_history", height=1)


def go_to(page: str, **query: str) -> None:
    """Open another page from a button, in the same workspace.

    `st.switch_page` fails as long as a widget is bound to the address, as the workspace's picker is. It is called by `frame`
    on the next run, in which that picker is not bound.
    """
    st.session_state[GOING] = (page, {**here(), **query})
    st.rerun()


def _same(value: str) -> str:
    return value


@dataclass(frozen=True)
class Choice:
    """What a picker may show.

    allowed: whether a value may stand in the address. first: shown where nothing was chosen. newest: the newest artefact; it is
    shown when it has appeared since the page was last drawn ("": never). named: the name that a typed value is shown under.
    typed: whether other values may be typed by hand.
    """

    allowed: Callable[[str], bool]
    first: str = ""
    newest: str = ""
    named: Callable[[str], str] = _same
    typed: bool = False


def settle(key: str, choice: Choice) -> None:
    """Set what a picker shows, before it is drawn.

    In this order: what `show_next` asked for, a link that was followed, an artefact that has just been made, what was chosen
    before, `choice.first`.
    """
    asked = [value for value in [st.session_state.pop(f"{key}_next", None)] if value is not None]
    wanted = [value for value in (*asked, *_link(key)) if choice.allowed(value)]
    news, held = _news(key, choice.newest), st.session_state.get(key)
    if held is not None and not (choice.typed or choice.allowed(held)):
        held = None
    if wanted:
        held = wanted[0]
    elif news:
        held = choice.newest
    shown = choice.first if held is None else choice.named(held)
    _set(key, shown or None)


def settle_several(key: str, choice: Choice, first: Callable[[], Sequence[str]]) -> None:
    """The same for a picker of several values."""
    link = [value for value in _link(key) if choice.allowed(value)]
    held = link or st.session_state.get(key)
    _set(key, list(first()) if held is None else [choice.named(value) for value in held])


def settle_text(key: str, first: str) -> None:
    """The same for a text that is typed; an empty one stays empty."""
    link = _link(key)
    held = link[-1] if link else st.session_state.get(key)
    _set(key, first if held is None else held)


def write(key: str, values: Sequence[str], allowed: Callable[[str], bool] = bool) -> None:
    """Write into the address what a picker shows, but for what may not stand there: that is kept in the session alone."""
    found = [value for value in values if allowed(value)]
    st.session_state[f"{key}_linked"] = found
    if st.query_params.get_all(key) == found:
        return
    if found:
        st.query_params[key] = found
    elif key in st.query_params:
        del st.query_params[key]


def read_link(key: str) -> str:
    """What a link that was just followed says, of a setting that no widget shows; "" for none."""
    link = _link(key)
    return link[-1] if link else ""


def show_next(key: str, value: str) -> None:
    """Let a picker show something from the next run of its page on: it cannot be set once it is drawn."""
    st.session_state[f"{key}_next"] = value


def is_new(key: str, value: str) -> bool:
    """Whether a picker shows an artefact that was made while its page was in use."""
    return bool(value) and st.session_state.get(f"{key}_made") == value


def _set(key: str, value: str | list[str] | None) -> None:
    """Set what a widget shows, unless it does: the browser would show it anew."""
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value


def _link(key: str) -> list[str]:
    """What the address holds, where the page did not write it itself: a link was followed."""
    given = st.query_params.get_all(key)
    return given if given != st.session_state.get(f"{key}_linked", []) else []


def _news(key: str, newest: str) -> bool:
    """Whether the newest artefact of the workspace is another one than when the page was last drawn."""
    now = (st.session_state.get(WORKSPACE), newest)
    last = st.session_state.get(f"{key}_newest", now)
    st.session_state[f"{key}_newest"] = now
    if not newest or last == now or last[0] != now[0]:
        return False
    st.session_state[f"{key}_made"] = newest
    return True
