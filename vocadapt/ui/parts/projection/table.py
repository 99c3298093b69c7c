"""The selected tokens as a table, a named slice and files; the projection as files and as a command
line.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from vocadapt.analysis import token_columns
from vocadapt.analysis.token_columns import Column
from vocadapt.errors import InputError
from vocadapt.lab.results.projection_files import build_table, render_figure_page, render_image
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.projection import summarize_projection
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.slices import (
    Slice,
    delete_slice,
    list_slices,
    load_slice,
    save_slice,
)
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.text.spreadsheet import format_frame_as_csv
from vocadapt.ui.components import mistakes
from vocadapt.ui.components.blocks import (
    Download,
    draw_command,
    draw_downloads,
    draw_heading,
    draw_note,
    draw_table,
    open_details,
)
from vocadapt.ui.components.slice_form import draw_slice_form
from vocadapt.ui.parts.projection.chart import (
    BY_HAND,
    MAX_IN_ADDRESS,
    TABLE_TURN,
    Highlights,
    ViewSettings,
    build_visible_figure,
    clear_selection,
    select_by_hand,
)
from vocadapt.ui.parts.projection.isolation import draw_isolate_button
from vocadapt.ui.parts.projection.sources import OpenedProjection
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS = 1000  # of the table; the selected tokens come first
TABLE_ORDER = "projection_table_order"  # session key: what the table was ordered for, its first ids
TYPES = {"id": st.column_config.NumberColumn(format="%d"), "token": st.column_config.TextColumn()}


@dataclass(frozen=True, eq=False)
class Selection:
    """Selected tokens of the first space, by id, and their slice (None: selected by hand)."""

    ids: Sequence[int]
    slice: Slice | None = None


def find_selection(
    workspace: Workspace, shown: OpenedProjection, picked: Sequence[int]
) -> Selection:
    """Return the selection: the slice named in the address, or the tokens selected by hand."""
    id = st.session_state.get("projection_slice", st.query_params.get("projection_slice"))
    if not id:
        return Selection(picked)
    try:
        found = load_slice(workspace, id)
    except InputError:
        return Selection(picked)
    # The slice may come from another space: look its tokens up in this one.
    index = shown.space.index
    return Selection([index[token] for token in found.tokens if token in index], found)


def draw_selection(
    workspace: Workspace, shown: OpenedProjection, chosen: Selection, column: Column | None
) -> None:
    """Draw the tokens of the projection as a table, in which the selected ones are selected, and
    the widgets to isolate, save and download the selection.
    """
    slice_id, name = "", "selected"
    if chosen.slice:
        slice_id = name = chosen.slice.id
    with st.container(horizontal=True, vertical_alignment="bottom"):
        # 1. The title, and the picker of slices.
        title = "Selected tokens"
        if chosen.ids:
            title = f"Selected · {count(len(chosen.ids))}"
        draw_heading(title, width="content")
        # Drawn even without slices, so that a newly saved slice appears in the address.
        st.selectbox(
            "Slice",
            [one.id for one in list_slices(workspace)],
            index=None,
            key="projection_slice",
            bind="query-params",
            placeholder="Show a slice",
            width=240,
        )
        if chosen.ids or chosen.slice:
            st.button(
                "Clear",
                icon=":material/deselect:",
                key="clear_selection",
                on_click=clear_selection,
            )
            draw_isolate_button(shown.spaces[0], chosen.ids, slice_id)
    if chosen.slice:
        _describe_slice(workspace, shown, chosen, chosen.slice)
    # 2. The table, and the widgets to save and download the selection.
    _draw_table(shown, chosen, column)
    if not chosen.ids:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if chosen.slice is None:
            draw_slice_form(partial(_save_selection, workspace, shown, chosen))
        make = partial(build_selection_table, shown, chosen.ids, column)
        draw_downloads(build_table_downloads(make, name))
    if len(chosen.ids) > MAX_IN_ADDRESS and chosen.slice is None:
        draw_note(
            f"A link can contain at most {MAX_IN_ADDRESS} tokens: save this selection as a slice."
        )


def _draw_table(shown: OpenedProjection, chosen: Selection, column: Column | None) -> None:
    """Draw the table of tokens. Selecting a row marks its token on the projection."""
    # 1. The order of the rows: a selection that was made elsewhere comes first. Rows that are
    #    selected in the table keep their places.
    slice = chosen.slice.id if chosen.slice else ""
    turn = (shown.key, slice, st.session_state.get(TABLE_TURN, 0))
    last, first = st.session_state.get(TABLE_ORDER, (None, []))
    if last != turn:
        first = list(chosen.ids)
        st.session_state[TABLE_ORDER] = (turn, first)
    ids = list(dict.fromkeys([*first, *shown.projection.rows.tolist()]))
    listed = ids[: max(MAX_ROWS, len(first))]
    # 2. The table.
    key = f"projection_rows_{abs(hash(turn))}"
    draw_table(
        build_selection_table(shown, listed, column),
        height=min(330, 40 + 35 * len(listed)),
        key=key,
        column_config=TYPES,
        on_select=lambda: _select_rows(key, shown, listed),
        selection_mode="multi-row",
        selection_default={"selection": {"rows": list(range(len(first)))}},
    )
    note = (
        "Select rows to mark their points on the projection, or points with the lasso or box tool."
    )
    if len(listed) < len(ids):
        note += f" The table holds {count(len(listed))} of {count(len(ids))} tokens."
    draw_note(note)


def _select_rows(key: str, shown: OpenedProjection, listed: Sequence[int]) -> None:
    """Callback: select the tokens of the selected rows."""
    rows = st.session_state[key]["selection"]["rows"]
    select_by_hand(shown, [listed[row] for row in rows if row < len(listed)], renew_table=False)


def build_selection_table(
    shown: OpenedProjection, ids: Sequence[int], column: Column | None
) -> "pd.DataFrame":
    """Return a table of tokens by id: id, token, length, frequency if known, and the color column."""
    import pandas as pd

    space = shown.space
    tokens = [space.words[id] for id in ids]
    lengths = token_columns.build_length_column(tokens, space.kinds)
    table: dict[str, list[object]] = {
        "id": list(ids),
        "token": list(tokens),
        "length": [int(x or 0) for x in lengths.values],
    }
    if space.counts is not None:
        table["frequency"] = [int(space.counts[id]) for id in ids]
    if column is not None and column.name not in table:
        # The column has a value for each token of the projection, not of the space.
        place = {int(row): i for i, row in enumerate(shown.projection.rows)}
        values = column.values
        table[column.name] = [values[place[id]] if id in place else None for id in ids]
    return pd.DataFrame(table)


def _describe_slice(
    workspace: Workspace, shown: OpenedProjection, chosen: Selection, one: Slice
) -> None:
    """Describe a slice, how many of its tokens are in the space and the projection, and offer to
    delete it.
    """
    drawn = len(set(chosen.ids) & set(shown.projection.rows.tolist()))
    origin = ", ".join(f"{key}: {value}" for key, value in one.source.items())
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{plain(one.name)}** · {count(len(chosen.ids))} of {count(len(one.tokens))}"
            f" tokens in this space, {count(drawn)} on the projection"
            f" :small[:gray[{plain(one.created[:16].replace('T', ' '))} {plain(origin)}]]"
        )
        with st.popover("Remove", icon=":material/delete:"):
            st.button(
                "Delete slice",
                key="remove_slice",
                on_click=_delete_slice,
                args=(workspace, one.id),
            )


def _save_selection(
    workspace: Workspace, shown: OpenedProjection, chosen: Selection, name: str
) -> None:
    """Callback: save the selection as a slice and select that slice."""
    source = {
        "space": shown.spaces[0].label,
        "map": shown.artifact.name if shown.artifact else "PCA",
    }
    made = save_slice(workspace, name, [shown.space.words[id] for id in chosen.ids], source)
    st.session_state["projection_slice"] = made.id
    st.session_state.pop(BY_HAND, None)


def _delete_slice(workspace: Workspace, id: str) -> None:
    """Callback: delete a slice and clear the selection."""
    with suppress(InputError):  # already deleted
        delete_slice(workspace, id)
    clear_selection()


def draw_details(
    shown: OpenedProjection, view_settings: ViewSettings, highlights: Highlights
) -> None:
    """Draw the folded block: the command, the settings and figures, and the downloads."""
    with open_details():
        roles = zip(("space", "other"), shown.spaces, strict=False)
        spec = Spec(shown.projection.settings, {role: (one.name,) for role, one in roles})
        # 1. The command; for a saved projection the one that created it.
        command = build_command(spec, Path("map.html"))
        if shown.artifact and shown.artifact.manifest.command:
            command = shown.artifact.manifest.command
        draw_command(command, "The same projection in a terminal")
        # 2. Settings and figures, as they are saved.
        left, right = st.columns(2)
        left.markdown("Settings")
        left.code(strict_json.dumps(asdict(shown.projection.settings), indent=1), language="json")
        right.markdown("Figures and versions")
        figures = {
            "figures": summarize_projection(shown.projection),
            "versions": dict(shown.layouts[0].projection.versions),
            "seconds": shown.projection.seconds,
        }
        right.code(strict_json.dumps(figures, indent=1), language="json")
        # 3. The downloads. A picture needs a browser process, so it is drawn only on click.
        files: dict[str, Download] = {
            "map.html": lambda: render_figure_page(
                shown.projection, build_visible_figure(shown, view_settings, highlights.rings)
            )
        }
        draw_downloads(
            {**files, **build_table_downloads(lambda: build_table(shown.projection), "map")}
        )
        if not st.button("Draw as PNG and SVG", icon=":material/image:", key="draw_pictures"):
            return
        with mistakes.show_errors(), st.spinner("Drawing …"):  # fails without a browser
            picture = build_visible_figure(shown, view_settings, highlights.rings, as_vectors=True)
            draw_downloads({f"map.{end}": render_image(picture, end) for end in ("png", "svg")})


def build_table_downloads(make: "Callable[[], pd.DataFrame]", name: str) -> dict[str, Download]:
    """Offer a table for download: CSV for spreadsheets (escaped cells), and Parquet with unchanged
    tokens.
    """
    return {
        f"{name}.csv": lambda: format_frame_as_csv(make()),
        f"{name}.parquet": lambda: bytes(make().to_parquet(index=False)),
    }
