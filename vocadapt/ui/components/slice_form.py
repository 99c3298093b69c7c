"""The form that saves tokens as a named slice, for every part on which tokens are selected."""

from collections.abc import Callable

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.workspace.slices import MAX_NAME_LENGTH
from vocadapt.ui.components import mistakes
from vocadapt.ui.text.markup import plain

SaveSlice = Callable[[str], None]  # called with the name of the new slice


def draw_slice_form(save: SaveSlice, is_ready: bool = True) -> None:
    """Draw the input of the name and the button, disabled unless there are tokens to save."""
    name = st.text_input(
        "Slice name",
        key="slice_name",
        placeholder="name",
        max_chars=MAX_NAME_LENGTH,
        width=260,
    )
    st.button(
        "Save slice",
        icon=":material/bookmark_add:",
        key="save_slice",
        disabled=not (is_ready and name.strip()),
        on_click=_save,
        args=(save, name),
    )


def _save(save: SaveSlice, name: str) -> None:
    try:
        save(name)
    except InputError as error:  # a callback cannot draw a message on the page
        st.toast(plain(mistakes.format_in_one_line(error)), icon=":material/error:")
