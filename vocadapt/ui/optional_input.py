"""Number inputs that may be left empty: what an empty one means is written in the field, and below it is the setting's 0."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator


def optional_number(
    label: str, bounds: tuple[float, float], usual: float, empty: str, place: DeltaGenerator | None = None, **options: Any
) -> float:
    """Return the number typed, or 0 if the field is empty; `empty` is what that means, such as "all".

    A `usual` value other than 0 is filled in at first and can be cleared; such an input needs a `key`.
    """
    lowest, highest = bounds
    key = options.get("key")
    if usual:
        if key is None:
            raise ValueError(f"{label}: an optional input with a usual value needs a key")
        if key not in st.session_state and key not in st.query_params:
            st.session_state[key] = usual
    input_of = st.number_input if place is None else place.number_input
    found = input_of(label, lowest, highest, None, placeholder=empty, **options)
    return type(lowest)(0) if found is None else found
