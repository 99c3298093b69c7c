"""What a visitor points at on a map, as token ids: out of the chart's events, in and out of the
address.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

PICKED = "projection_picked"  # query parameter: the selected ids
BY_HAND = "projection_by_hand"  # session key: the selected ids without limit, as (stamp of the space, ids)
MOST_IN_ADDRESS = 50  # ids; a larger selection is kept as a slice, and its id stands in the address


def ids_of(points: Sequence[Mapping[str, Any]], size: int) -> list[int]:
    """The ids of the selected points, each once, in order; `size`: how many tokens the space has.

    An id travels in a point's customdata: a point's own number counts within its trace, and clashes
    between traces.
    """
    found = (_id_in(point.get("customdata")) for point in points)
    return list(dict.fromkeys(id for id in found if id is not None and 0 <= id < size))


def to_address(ids: Sequence[int]) -> str:
    """A selection as it stands in the address: "" for none, and for one that is too large for
    it.
    """
    return ",".join(map(str, ids)) if len(ids) <= MOST_IN_ADDRESS else ""


def from_address(text: str, size: int) -> list[int]:
    """What `to_address` wrote; anything else in it is passed over."""
    numbers = (
        int(part)
        for part in text.split(",")[:MOST_IN_ADDRESS]
        if part.isascii() and part.isdigit() and len(part) < 10
    )
    return list(dict.fromkeys(id for id in numbers if id < size))


def clear_manual_selection() -> None:
    """Clear the manual selection."""
    st.session_state.pop(BY_HAND, None)


def _id_in(custom: Any) -> int | None:
    """An id however the browser wraps it: 7, [7], {"0": 7}."""
    if isinstance(custom, Mapping):
        custom = list(custom.values())
    if isinstance(custom, list):
        custom = custom[0] if custom else None
    if isinstance(custom, bool) or not isinstance(custom, int | float):
        return None
    return int(custom) if float(custom).is_integer() else None
