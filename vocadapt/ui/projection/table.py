"""The selected tokens: as a table, as a named slice, as a file."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from vocadapt.analysis import token_columns
from vocadapt.analysis.token_columns import Column
from vocadapt.errors import InputError
from vocadapt.lab.workspace.slices import (
    LONGEST,
    Slice,
    delete_slice,
    load_slice,
    save_slice,
    slices_of,
)
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count
from vocadapt.ui.projection.export import table_files
from vocadapt.ui.projection.selection import MOST_IN_ADDRESS, clear_manual_selection
from vocadapt.ui.projection.sources import Shown

if TYPE_CHECKING:
    import pandas as pd

TYPES = {"id": st.column_config.NumberColumn(format="%d"), "token": st.column_config.TextColumn()}


@dataclass(frozen=True, eq=False)
class Selected:
    """The selected tokens that the first space knows, by id, and the slice they come from (None:
    selected by hand).
    """

    ids: Sequence[int]
    slice: Slice | None = None


def selected(workspace: Workspace, shown: Shown, picked: Sequence[int]) -> Selected:
    """What is selected: the slice of the address where one is named, else what was pointed at."""
    id = st.session_state.get("projection_slice", st.query_params.get("projection_slice"))
    if not id:
        return Selected(picked)
    try:
        found = load_slice(workspace, id)
    except InputError:
        return Selected(picked)
    index = shown.space.index
    return Selected([index[token] for token in found.tokens if token in index], found)


def show(
    workspace: Workspace,
    shown: Shown,
    chosen: Selected,
    column: Column | None,
    clear: Callable[[], None],
) -> None:
    """Draw the block of the selection: which slice, the table, how to keep it and take it along."""
    there = slices_of(workspace)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.subheader(
            f"Selected · {count(len(chosen.ids))}" if chosen.ids else "Selected tokens",
            width="content",
        )
        ids = [
            one.id for one in there
        ]  # the picker is there from the start: a slice that is saved then enters the address
        st.selectbox(
            "Slice",
            ids,
            index=None,
            key="projection_slice",
            bind="query-params",
            placeholder="Show a slice",
            width=240,
        )
        if chosen.ids or chosen.slice:
            st.button("Clear", icon=":material/deselect:", key="clear_selection", on_click=clear)
    if chosen.slice:
        _told(workspace, shown, chosen, chosen.slice, clear)
    if not chosen.ids:
        st.markdown(
            ":gray[Nothing is selected: take the lasso or the box beside the map, and draw round"
            " points.]"
        )
        return
    table = table_of(shown, chosen.ids, column)
    st.dataframe(
        table,
        hide_index=True,
        height=min(330, 40 + 35 * len(chosen.ids)),
        key="selected",
        column_config=TYPES,
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if chosen.slice is None:
            _keep(workspace, shown, chosen)
        for name, make in table_files(
            lambda: table, chosen.slice.id if chosen.slice else "selected"
        ).items():
            st.download_button(
                name, make, name, on_click="ignore", icon=":material/download:", key=f"get_{name}"
            )
    if len(chosen.ids) > MOST_IN_ADDRESS and chosen.slice is None:
        st.markdown(
            f":small[:gray[More than {MOST_IN_ADDRESS} do not fit into a link: save them as a slice"
            " to keep them.]]"
        )


def table_of(shown: Shown, ids: Sequence[int], column: Column | None) -> "pd.DataFrame":
    """The table of some tokens by id: id, token, length, frequency where it is known, and the
    column of the colors.
    """
    import pandas as pd

    space = shown.space
    tokens = [space.words[id] for id in ids]
    lengths = token_columns.length(tokens, shown.continuation)
    table: dict[str, list[object]] = {
        "id": list(ids),
        "token": list(tokens),
        "length": [int(x or 0) for x in lengths.values],
    }
    if space.counts is not None:
        table["frequency"] = [int(space.counts[id]) for id in ids]
    if column is not None and column.name not in table:
        place = {int(row): i for i, row in enumerate(shown.map.rows)}
        values = column.values
        table[column.name] = [values[place[id]] if id in place else None for id in ids]
    return pd.DataFrame(table)


def _told(
    workspace: Workspace, shown: Shown, chosen: Selected, one: Slice, clear: Callable[[], None]
) -> None:
    """What a slice is, how much of it this space and this map know, and the way to remove it."""
    on_map = len(set(chosen.ids) & set(shown.map.rows.tolist()))
    made = ", ".join(f"{key}: {value}" for key, value in one.source.items())
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{plain(one.name)}** · {count(len(chosen.ids))} of {count(len(one.tokens))} tokens"
            f" in this space, {count(on_map)} on the map"
            f" :small[:gray[{plain(one.created[:16].replace('T', ' '))} {plain(made)}]]"
        )
        with st.popover("Remove", icon=":material/delete:"):
            st.button(
                "Remove this slice for good",
                key="remove_slice",
                on_click=_remove,
                args=(workspace, one.id, clear),
            )


def _keep(workspace: Workspace, shown: Shown, chosen: Selected) -> None:
    """Form: name the selection, so that it is kept as a slice."""
    name = st.text_input(
        "Keep them as a slice",
        key="slice_name",
        placeholder="Its name",
        max_chars=LONGEST,
        width=260,
    )
    st.button(
        "Save slice",
        icon=":material/bookmark_add:",
        key="save_slice",
        disabled=not name.strip(),
        on_click=_save,
        args=(workspace, shown, chosen, name),
    )


def _save(workspace: Workspace, shown: Shown, chosen: Selected, name: str) -> None:
    """Callback: save the selection, and look at it as a slice from now on."""
    source = {"space": shown.spaces[0].label, "map": shown.kept.name if shown.kept else "PCA"}
    made = save_slice(workspace, name, [shown.space.words[id] for id in chosen.ids], source)
    st.session_state["projection_slice"] = made.id
    clear_manual_selection()


def _remove(workspace: Workspace, id: str, clear: Callable[[], None]) -> None:
    """Callback: remove a slice, and look at none."""
    with suppress(InputError):  # gone already
        delete_slice(workspace, id)
    clear()
