"""Selection of tokens by lasso or box: from chart events to token ids, and to and from the address."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

PICKED = "projection_picked"  # query parameter: the selected ids
BY_HAND = "projection_by_hand"  # session key: the selected ids without limit, as (stamp of the space, ids)
MAX_IN_ADDRESS = 50  # ids; a larger selection is kept as a slice, and its id stands in the address


def ids_of(points: Sequence[Mapping[str, Any]], size: int) -> list[int]:
    """Return the distinct ids of the selected points in order; `size`: number of tokens of the
    space.

    An id travels in a point's customdata: a point's own number counts within its trace, and clashes
    between traces.
    """
    found = (_id_in(point.get("customdata")) for point in points)
    return list(dict.fromkeys(id for id in found if id is not None and 0 <= id < size))


def to_address(ids: Sequence[int]) -> str:
    """Format a selection for the address; "" if it is empty or too large."""
    return ",".join(map(str, ids)) if len(ids) <= MAX_IN_ADDRESS else ""


def from_address(text: str, size: int) -> list[int]:
    """Parse what `to_address` wrote; invalid parts are ignored."""
    numbers = (
        int(part)
        for part in text.split(",")[:MAX_IN_ADDRESS]
        if part.isascii() and part.isdigit() and len(part) < 10
    )
    return list(dict.fromkeys(id for id in numbers if id < size))


def clear_manual_selection() -> None:
    """Clear the manual selection."""
    st.session_state.pop(BY_HAND, None)


def _id_in(custom: Any) -> int | None:
    """Return an id from any of its JSON forms: 7, [7], {"0": 7}."""
    if isinstance(custom, Mapping):
        custom = list(custom.values())
    if isinstance(custom, list):
        custom = custom[0] if custom else None
    if isinstance(custom, bool) or not isinstance(custom, int | float):
        return None
    return int(custom) if float(custom).is_integer() else None
