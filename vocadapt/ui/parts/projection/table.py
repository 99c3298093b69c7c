"""The selected tokens as a table, a named slice and files, and projected alone; the projection as
files and as a command line.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from vocadapt.analysis import token_columns
from vocadapt.analysis.figures.projection import Rings
from vocadapt.analysis.token_columns import Column
from vocadapt.errors import InputError
from vocadapt.lab.results.projection_files import build_table, render_figure_page, render_image
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.projection import summarize_projection
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.slices import (
    Slice,
    delete_slice,
    list_slices,
    load_slice,
    save_slice,
)
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.projection.methods import MIN_TOKENS
from vocadapt.text.spreadsheet import format_frame_as_csv
from vocadapt.ui.components import mistakes
from vocadapt.ui.components.blocks import (
    Download,
    draw_command,
    draw_downloads,
    draw_heading,
    draw_json,
    draw_note,
    draw_table,
    open_details,
)
from vocadapt.ui.components.slice_form import draw_slice_form
from vocadapt.ui.parts.projection.chart import (
    BY_HAND,
    MAX_IN_ADDRESS,
    TABLE_TURN,
    ViewSettings,
    build_visible_figure,
    clear_selection,
    format_selection,
    parse_selection,
    select_by_hand,
)
from vocadapt.ui.parts.projection.sources import UNSAVED_PCA, NamedSpace, OpenedProjection
from vocadapt.ui.state import address
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS = 1000  # of the table; the selected tokens come first
TABLE_ORDER = "projection_table_order"  # session key: what the table was ordered for, its first ids
ONLY = "projection_only"  # query parameter: ids, or SLICE and the id of a slice
SLICE = "slice:"
ISOLATED = "projection_isolated"  # session key of IsolatedTokens
TYPES = {"id": st.column_config.NumberColumn(format="%d"), "token": st.column_config.TextColumn()}


@dataclass(frozen=True, eq=False)
class Selection:
    """Selected tokens of the first space, by id, and their slice (None: selected by hand)."""

    ids: Sequence[int]
    slice: Slice | None = None

    @property
    def slice_id(self) -> str:
        """The id of the slice, "" if there is none."""
        return self.slice.id if self.slice else ""


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
    """Draw the tokens as a table, and the widgets to isolate, save and download a selection."""
    # 1. The title, the picker of slices, and the buttons.
    _draw_selection_header(workspace, shown, chosen)
    # 2. The table, and the widgets to save and download the selection.
    _draw_table(shown, chosen, column)
    if not chosen.ids:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if chosen.slice is None:
            draw_slice_form(partial(_save_selection, workspace, shown, chosen))
        make = partial(build_selection_table, shown, chosen.ids, column)
        draw_downloads(build_table_downloads(make, chosen.slice_id or "selected"))
    if len(chosen.ids) > MAX_IN_ADDRESS and chosen.slice is None:
        draw_note(
            f"A link can contain at most {MAX_IN_ADDRESS} tokens: save this selection as a slice."
        )


def _draw_selection_header(
    workspace: Workspace, shown: OpenedProjection, chosen: Selection
) -> None:
    """Draw the number of selected tokens, the picker of slices, and the buttons."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
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
            draw_isolate_button(shown.spaces[0], chosen.ids, chosen.slice_id)
    if chosen.slice:
        _describe_slice(workspace, shown, chosen, chosen.slice)


def _draw_table(shown: OpenedProjection, chosen: Selection, column: Column | None) -> None:
    """Draw the table of tokens. Selecting a row marks its token on the projection."""
    # 1. The order of the rows: a selection that was made elsewhere comes first. Rows that are
    #    selected in the table keep their places.
    turn = (shown.key, chosen.slice_id, st.session_state.get(TABLE_TURN, 0))
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
    rows = st.session_state[key]["selection"]["rows"]
    select_by_hand(shown, [listed[row] for row in rows if row < len(listed)], renew_table=False)


def build_selection_table(
    shown: OpenedProjection, ids: Sequence[int], column: Column | None
) -> "pd.DataFrame":
    """Return a table of tokens: id, token, length, frequency if known, and the color column."""
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
    """Describe a slice, and how many of its tokens are here; offer to delete it."""
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
    source = {
        "space": shown.spaces[0].label,
        "map": shown.artifact.name if shown.artifact else "PCA",
    }
    made = save_slice(workspace, name, [shown.space.words[id] for id in chosen.ids], source)
    st.session_state["projection_slice"] = made.id
    st.session_state.pop(BY_HAND, None)


def _delete_slice(workspace: Workspace, id: str) -> None:
    with suppress(InputError):  # already deleted
        delete_slice(workspace, id)
    clear_selection()


def draw_details(
    shown: OpenedProjection, view_settings: ViewSettings, rings: Sequence[Rings]
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
        draw_json(asdict(shown.projection.settings), "Settings", left)
        figures = {
            "figures": summarize_projection(shown.projection),
            "versions": dict(shown.layouts[0].projection.versions),
            "seconds": shown.projection.seconds,
        }
        draw_json(figures, "Figures and versions", right)
        # 3. The downloads. A picture needs a browser process, so it is drawn only on click.
        files = build_table_downloads(lambda: build_table(shown.projection), "map")
        files["map.html"] = lambda: render_figure_page(
            shown.projection, build_visible_figure(shown, view_settings, rings)
        )
        draw_downloads(files)
        if not st.button("Draw as PNG and SVG", icon=":material/image:", key="draw_pictures"):
            return
        with mistakes.show_errors(), st.spinner("Drawing …"):  # fails without a browser
            picture = build_visible_figure(shown, view_settings, rings, as_vectors=True)
            draw_downloads({f"map.{end}": render_image(picture, end) for end in ("png", "svg")})


def build_table_downloads(make: "Callable[[], pd.DataFrame]", name: str) -> dict[str, Download]:
    """Offer a table as CSV for spreadsheets (escaped cells), and as Parquet (unchanged)."""
    return {
        f"{name}.csv": lambda: format_frame_as_csv(make()),
        f"{name}.parquet": lambda: bytes(make().to_parquet(index=False)),
    }


@dataclass(frozen=True)
class IsolatedTokens:
    """Selected tokens that are projected without the others.

    stamp: of their space; in another space they do not apply. link: their value in the address, ""
    if there are too many. view: the projection that was shown before.
    """

    stamp: str
    tokens: tuple[str, ...]
    link: str = ""
    view: str = ""


def read_isolated(workspace: Workspace, space: NamedSpace) -> IsolatedTokens | None:
    """Return the isolated tokens, and draw the button that shows all again; None without any."""
    link = address.read_link(ONLY)
    if link:
        tokens = _find_linked_tokens(workspace, space, link)
        st.session_state[ISOLATED] = IsolatedTokens(space.stamp, tokens, link)
    isolated = st.session_state.get(ISOLATED)
    if isolated is not None and (isolated.stamp != space.stamp or not isolated.tokens):
        isolated = None
    address.write(ONLY, [isolated.link] if isolated else [])
    if isolated:
        st.button(
            f"Show all again · now {count(len(isolated.tokens))}",
            icon=":material/zoom_out_map:",
            key="show_all",
            on_click=_show_all,
            args=(isolated,),
        )
    return isolated


def _show_all(isolated: IsolatedTokens) -> None:
    st.session_state.pop(ISOLATED, None)
    if isolated.view:
        st.session_state["projection_view"] = isolated.view


def _find_linked_tokens(workspace: Workspace, space: NamedSpace, link: str) -> tuple[str, ...]:
    """Return the tokens that an address names; invalid parts are ignored."""
    words = space.opened.space.words
    if not link.startswith(SLICE):
        return tuple(words[id] for id in parse_selection(link, len(words)))
    with suppress(InputError):  # a deleted slice
        return load_slice(workspace, link.removeprefix(SLICE)).tokens
    return ()


def draw_isolate_button(space: NamedSpace, ids: Sequence[int], slice: str = "") -> None:
    """Draw the button that makes the selected tokens the projection's tokens.

    slice: id of the slice that is selected, "" if the tokens were selected by hand.
    """
    st.button(
        "Show only these",
        icon=":material/filter_center_focus:",
        key="isolate",
        disabled=len(ids) < MIN_TOKENS,
        on_click=_isolate,
        args=(space, tuple(ids), slice),
        help=(
            "Projects the selected tokens alone, by PCA. For a t-SNE of them, make a new projection"
            f" under Set up. Needs at least {MIN_TOKENS} tokens."
        ),
    )


def _isolate(space: NamedSpace, ids: tuple[int, ...], slice: str) -> None:
    words = space.opened.space.words
    link = f"{SLICE}{slice}" if slice else format_selection(ids)
    view = str(st.session_state.get("projection_view", ""))
    # Of several isolations in a row, the button returns to the first projection.
    earlier = st.session_state.get(ISOLATED)
    if earlier is not None and earlier.stamp == space.stamp:
        view = earlier.view
    tokens = tuple(words[id] for id in ids)
    st.session_state[ISOLATED] = IsolatedTokens(space.stamp, tokens, link, view)
    st.session_state["projection_view"] = UNSAVED_PCA
