"""Text fields with clickable examples; a short text is stored in the address."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from vocadapt.ui.state import address

MAX_ADDRESS_LENGTH = 600  # characters of a text that is stored in the address


def draw_text(label: str, key: str, first: str, examples: Mapping[str, str], **options: Any) -> str:
    """Draw a text area with examples (name → text) below it; return the text."""
    address.restore_text(key, first)
    text = str(st.text_area(label, key=key, persist_state="session", **options) or "")
    if examples:
        draw_examples(key, text, examples)
    address.write(key, [text], lambda typed: 0 < len(typed) <= MAX_ADDRESS_LENGTH)
    return text


def draw_examples(key: str, text: str, examples: Mapping[str, str]) -> None:
    """Draw the names of examples (name → text) of a text field with this key and text; a click
    fills the field.
    """
    # Select the example that is in the field; none if the user typed another text.
    names = {example: name for name, example in examples.items()}
    st.session_state[f"{key}_example"] = names.get(text)
    st.pills(
        "Examples",
        list(examples),
        key=f"{key}_example",
        label_visibility="collapsed",
        on_change=_take_example,
        args=(key, examples),
    )


def _take_example(key: str, examples: Mapping[str, str]) -> None:
    chosen = st.session_state.get(f"{key}_example")
    if chosen:
        st.session_state[key] = examples[chosen]
