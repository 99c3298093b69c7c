"""Filters of the list on the part Error analysis: the outcome, the slice, a cell of the confusion
matrix, the type of error and the search. Each is chosen by a click, kept in the address, and
removed by a button.
"""

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from vocadapt.analysis.errors.ledger import (
    ADDED,
    ALARMS,
    BROKEN,
    FIXED,
    KEPT,
    OUTCOMES,
    REMOVED,
    Entry,
    count_by_outcome,
)
from vocadapt.analysis.errors.report import OUTCOME_NOTES
from vocadapt.analysis.errors.slicing import ALL, OWN, OwnSlice, Slicing
from vocadapt.errors import InputError
from vocadapt.lab.reports.ledgers import RunPair
from vocadapt.lab.workspace.slices import list_slices
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.tasks.kinds import TaskKind
from vocadapt.ui.state import address
from vocadapt.ui.state.address import Choice
from vocadapt.ui.text.markup import escape_invisible, plain
from vocadapt.ui.text.number_formats import count

# Session keys and query parameters:
OUTCOME = "errors_fate"
SLICE = "errors_slice"
CELL = "errors_cell"
KIND = "errors_kind"
FIND = "errors_find"
PAGE = "errors_page"
CLEARED = {SLICE: ALL, CELL: "", FIND: ""}  # values of filters that limit nothing
ARROW = " → "  # between the labels of a cell
COLORS = {FIXED: "green", BROKEN: "violet"}
SHORT = {  # names of false alarms on buttons
    REMOVED: "false alarms removed",
    ADDED: "false alarms added",
    KEPT: "false alarms in both",
}


def format_cell(gold: str, predicted: str) -> str:
    """Return the name of a cell of a confusion matrix in menus and addresses."""
    return f"{escape_invisible(gold)}{ARROW}{escape_invisible(predicted)}"


def read_slice() -> str:
    """Return the name of the selected slice."""
    return str(st.session_state.get(SLICE) or ALL)


def read_outcome() -> str:
    """Return the selected outcome."""
    return str(st.session_state.get(OUTCOME, FIXED))


def draw_search() -> None:
    """Draw the field of the searched text."""
    st.text_input("Find", key=FIND, bind="query-params", placeholder="word, sentence, document")


def read_search() -> str:
    """Return the text in the search field."""
    return str(st.session_state.get(FIND) or "").strip()


def read_cell() -> str:
    """Return the selected cell of the confusion matrix, "" if none; a link may select it."""
    # A page that is opened without a cell in its address shows all cells.
    entered = st.session_state.get(f"{CELL}_visit") != st.session_state.get(address.VISIT)
    if entered and CELL not in st.query_params:
        st.session_state[CELL] = ""
    address.restore_text(CELL, "")
    cell = str(st.session_state[CELL])
    address.write(CELL, [cell])
    return cell


def select_entries(compared: RunPair, slicing: Slicing) -> tuple[Entry, ...]:
    """Return the entries of the selected slice and cell that match the search."""
    entries = slicing.entries(read_slice())
    if read_search():
        entries = slicing.ledger.search(entries, read_search())
    cell = read_cell()
    if cell:
        entries = tuple(_filter_by_cell(compared, entries, cell))
    return entries


def _filter_by_cell(compared: RunPair, entries: Sequence[Entry], name: str) -> list[Entry]:
    kind = compared.kind
    if not kind.confusion_unit:
        return list(entries)
    found = compared.confusion
    cells = {format_cell(*cell): cell for cell in found.cases}
    if name not in cells:
        return []
    cell = cells[name]
    cases = {(case.example, case.start, case.end) for case in found.cases[cell]}
    selected = []
    for entry in entries:
        has_span = (entry.place, entry.unit.start, entry.unit.end) in cases
        # A text has no span; if it has several labels, the entry is about one of them.
        is_text = (entry.place, None, None) in cases
        has_label = not kind.is_multilabel or entry.unit.label in cell
        if has_span or (is_text and has_label):
            selected.append(entry)
    return selected


def draw_outcome_buttons(entries: Sequence[Entry]) -> str:
    """Draw a button with the number of entries for each outcome; return the selected outcome."""
    counts = count_by_outcome(entries)
    alarms = [name for name in ALARMS if counts[name]]
    names = [*OUTCOMES, *alarms]
    # 1. The outcome of a link or the previous one; by default the first one with entries. The
    #    entries of a cell often have one outcome only: it is selected.
    default = next((name for name in names if counts[name]), FIXED)
    address.restore_selection(OUTCOME, Choice(names.__contains__, default))
    if st.session_state.get(CELL) and not counts[read_outcome()]:
        st.session_state[OUTCOME] = default
    # 2. The buttons.
    for column, name in zip(st.columns(len(OUTCOMES), gap="small"), OUTCOMES, strict=True):
        with column:
            _draw_outcome_button(name, counts[name])
    if alarms:
        with st.container(horizontal=True, gap="small"):
            for name in alarms:
                _draw_outcome_button(name, counts[name], "content")
    address.write(OUTCOME, [read_outcome()])
    return read_outcome()


def _draw_outcome_button(
    name: str, n: int, width: Literal["stretch", "content"] = "stretch"
) -> None:
    """Draw the button of an outcome with its number of entries, highlighted if it is selected."""
    label = f"**{count(n)}** {SHORT.get(name, name)}"
    kind: Literal["primary", "secondary"] = "primary"
    if name != read_outcome():
        kind = "secondary"
        # The text of a highlighted button is white: colors would be hard to read.
        if name in COLORS:
            label = f":{COLORS[name]}[{label}]"
    st.button(
        label,
        key=f"errors_pick_{name}",
        type=kind,
        width=width,
        on_click=_select,
        args=(OUTCOME, name),
        help=OUTCOME_NOTES.get(name) or ALARMS.get(name),
    )


def select_slice(name: str) -> None:
    """Callback: select a slice; the selected one is cleared."""
    _select(SLICE, ALL if name == read_slice() else name)


def _select(key: str, value: str) -> None:
    """Callback: set a filter, and open the first page of the entries that it leaves."""
    st.session_state[key] = value
    if PAGE in st.session_state:
        st.session_state[PAGE] = 1


def draw_active_filters(slicing: Slicing) -> None:
    """Draw a button for each filter that limits the list, which removes it."""
    shown = {}
    if read_slice() != ALL:
        shown[SLICE] = f"Slice: {plain(name_slice(slicing, read_slice()))}"
    cell = str(st.session_state.get(CELL) or "")
    if cell:
        gold, _, predicted = cell.partition(ARROW)
        shown[CELL] = f"Gold {plain(gold[:60])}, compared run {plain(predicted[:60])}"
    if read_search():
        shown[FIND] = f"Search: {plain(read_search()[:60])}"
    if not shown:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(":small[:gray[Only entries with]]", width="content")
        for key, label in shown.items():
            st.button(
                label,
                key=f"errors_clear_{key.removeprefix('errors_')}",
                icon=":material/close:",
                on_click=_select,
                args=(key, CLEARED[key]),
                help="Removes this filter.",
            )


def filter_by_error(entries: list[Entry], kind: TaskKind) -> list[Entry]:
    """Show a filter by error type if there are at least two types; return the selected entries."""
    counts = {
        name: sum(name in _errors_of(entry) for entry in entries) for name in kind.error_kinds
    }
    names = [name for name, n in counts.items() if n]
    # A filter with a single error type would have no effect.
    if len(names) < 2:
        return entries
    address.restore_selection(KIND, Choice(names.__contains__))
    chosen = st.pills(
        "Error type",
        names,
        key=KIND,
        persist_state="session",
        label_visibility="collapsed",
        format_func=lambda name: f"{name} {counts[name]}",
    )
    address.write(KIND, [chosen or ""])
    return [entry for entry in entries if chosen in (None, *_errors_of(entry))]


def _errors_of(entry: Entry) -> tuple[str, str]:
    return entry.first.error, entry.second.error


def name_slice(slicing: Slicing, name: str) -> str:
    """Return the name of a slice in menus."""
    if name == ALL:
        return "all entities" if slicing.ledger.kind.finds_entities else "all"
    if name in slicing.names:
        return slicing.title(name)
    return name


def list_own_slices(workspace: Workspace) -> tuple[OwnSlice, ...]:
    """Return the slices that were saved in the workspace; none if they cannot be read."""
    try:
        saved = list_slices(workspace)
    except InputError:
        return ()
    return tuple(
        OwnSlice(f"{OWN}{one.id}", one.name, frozenset(token.lower() for token in one.tokens))
        for one in saved
    )
