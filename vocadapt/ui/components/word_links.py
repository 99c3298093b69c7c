"""Words drawn as links: a click selects the word in a field of the same part.

`build_links` tells `markup` where a word leads; `listen` receives the clicks. The address of a link
opens the same view in another tab, so a link works like any other: with the keyboard too.

    markup.draw_neighbor_cards(cards, build_links("alignment_word"))
    listen("alignment_word")
"""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from vocadapt.ui.text.markup import Links

MAX_LENGTH = 500  # characters of a word that a click may send
_click_listener = st.components.v2.component(
    "vocadapt_word_links",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def build_links(field: str) -> Links:
    """Return the links of words that fill a field, which is also a parameter of the address."""
    others = {key: value for key, value in st.query_params.items() if key != field}
    return Links(field, others)


def listen(field: str, select: Callable[[str], None] | None = None) -> None:
    """Receive the clicks on the links of a field; draw it once, in the fragment of the links.

    select: called with the word, before the page runs again; None: fill the text field.
    """
    key = f"{field}_links"

    def receive() -> None:
        word = st.session_state[key]["word"]
        # The browser sends it: it may be anything.
        if not isinstance(word, str) or not word or len(word) > MAX_LENGTH:
            return
        if select is not None:
            select(word)
        else:
            st.session_state[field] = word

    _click_listener(key=key, data={"field": field}, on_word_change=receive, height=1)
