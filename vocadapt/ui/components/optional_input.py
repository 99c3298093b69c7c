"""Number inputs that may be left empty, which means 0; the placeholder states its meaning."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator


def draw_optional_number(
    label: str,
    bounds: tuple[float, float],
    usual: float,
    empty: str,
    place: DeltaGenerator | None = None,
    **options: Any,
) -> float:
    """Show a number input that may be empty; return its value, 0 if empty.

    empty: the placeholder, such as "all". usual: the initial value, which can be cleared; if it is
    not 0, `key` is required.
    """
    lowest, highest = bounds
    key = options.get("key")
    if usual:
        if key is None:
            raise ValueError(f"{label}: an optional input with a usual value needs a key")
        if key not in st.session_state and key not in st.query_params:
            st.session_state[key] = usual
    draw = (place or st).number_input
    found = draw(label, lowest, highest, None, placeholder=empty, **options)
    return found or type(lowest)(0)
