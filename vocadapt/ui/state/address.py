"""Keep the selections of a page in its address (URL query): a link opens the same artifacts later.

The key of a setting is also its query parameter and begins with the name of its part
(`projection_space`); only the workspace is shared by all pages. Streamlit binds simple settings
itself (`bind`). It cannot bind pickers of artifacts, models and spaces: it omits default values
from the address, accepts any value from it, and may lose a value set by the server. For those,
every run of a page does:

1. `restore_selection` sets the value before the picker is drawn (see there for the order of
   precedence).
2. Streamlit draws the picker with that value.
3. `write` copies the picker's value into the address, if it is allowed there, and remembers what it
   wrote.
4. On the next run, an address that differs from what was written means that a link was followed
   (`_read_followed_link`).

When a page is entered, the browser may send the value that a picker had on an earlier visit. So on
this first run the address takes precedence, and its value is sent to the browser even if the
server's value did not change (`enter`, `_was_just_entered`).
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.errors import StreamlitAPIException

from vocadapt.errors import InputError
from vocadapt.lab.housekeeping.renames import find_new_name
from vocadapt.lab.workspace.limits import is_read_only
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.visitors import WORKSPACE as OWN_WORKSPACE
from vocadapt.lab.workspace.workspace import Workspace, check_name, is_name
from vocadapt.ui.state import visitors
from vocadapt.ui.state.names import MAX_NAME_LENGTH, SPACE_KINDS
from vocadapt.ui.state.pages import find_link
from vocadapt.ui.text.markup import plain

WORKSPACE = "workspace"  # key of the picker and query parameter
WORKSPACE_VARIABLE = "VOCADAPT_WORKSPACE"  # environment variable: the workspace to begin with
STUDIES = "studies"  # folder of the studies of a workspace
LESSON = "lesson"  # query parameter of a page that a lesson opened; others begin with it
# Ends of the query parameters that hold typed text, or the open tab.
TYPED = ("_word", "_token", "_around", "_text", "_find", "_holding", "_tab")
# Query parameters with names that runs have recorded: they stay as they are.
RECORDED = ("results_task",)
# End of a parameter -> kind of the artifact that its value names: corpus -> corpora.
KIND_OF_KEY = {name: kind for kind, one in ARTIFACTS.items() for name in (kind, one)}
SEPARATOR = " · "  # between the name of an artifact and its kind or details
NEXT_PAGE = "next_page"  # session key: the page to open next, and its query parameters
VISIT = "part_visit"  # session key: the open part, and how many parts have been entered so far
SCROLL = "scroll_to_top"  # session key: changes when the page is to scroll to its top
# Seconds for which an address is still expected from before a result was selected: a part of the
# page that looks at the same job may rerun the page with it.
OUTDATED_SECONDS = 10.0
# Makes Back leave the page even if the server has changed its address, and scrolls to the top.
_script = st.components.v2.component(
    "vocadapt_address",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def here() -> dict[str, str]:
    """Return the query parameter of the workspace, for links with query parameters of their own."""
    return {WORKSPACE: st.query_params[WORKSPACE]} if WORKSPACE in st.query_params else {}


def enter(part: str) -> None:
    """Record which part is open; a part other than that of the last run has just been entered."""
    last, count = st.session_state.get(VISIT, ("", 0))
    if part != last:
        st.session_state[VISIT] = (part, count + 1)
        _send_address()


def _send_address() -> None:
    """Send the address to the browser, unchanged.

    Streamlit's browser sends with each click the address that it last got from the server. After a
    link to another tab of the same page, that would be the address before the link.
    """
    for key in list(st.query_params):
        with suppress(StreamlitAPIException):  # a setting that Streamlit has bound itself
            st.query_params[key] = st.query_params.get_all(key)
            return


def find_open_part() -> str:
    """Return the open part, in the sidebar that of the last run; "" before the first one."""
    part, _ = st.session_state.get(VISIT, ("", 0))
    return str(part)


def draw_script() -> None:
    """Draw the invisible component that keeps the history of the browser and scrolls the page."""
    _script(key="address_history", height=1, data={"top": st.session_state.get(SCROLL, "")})


def scroll_to_top(reason: str) -> None:
    """Scroll the page to its top after this run, once for each reason."""
    st.session_state[SCROLL] = reason


def go_to(part: str, **query: str) -> None:
    """Open another part of the lab from a button, in the same workspace.

    `st.switch_page` fails while a widget is bound to the address, as the workspace picker is. So
    `frame` calls it on the next run, in which that picker is not bound.
    """
    page, parameters = find_link(part, **query)
    st.session_state[NEXT_PAGE] = (page, here() | parameters)
    st.rerun()


@dataclass(frozen=True)
class Choice:
    """Rules for the value of a picker.

    allowed: whether a value may appear in the address.
    first: the default.
    newest: the newest artifact, which is selected if it was created since the last run; "" to
        disable.
    display_name: maps a typed value to its display name.
    typed: whether the user may type other values.
    """

    allowed: Callable[[str], bool]
    first: str = ""
    newest: str = ""
    display_name: Callable[[str], str] = str
    typed: bool = False


def restore_selection(key: str, choice: Choice) -> None:
    """Set the value of a picker, before it is drawn.

    The first of: 1. the value of `show_next`; 2. the value of a followed link; 3. a newly created
    artifact; 4. the previous selection; 5. `choice.first`.
    """
    # 1. The value of `show_next`, and 2. that of a link: the first one that is allowed.
    link = _read_followed_link(key, choice.allowed)
    shown, has_new_artifact = _read_result(key, choice.newest)
    requested = [shown, *link]
    wanted = [value for value in requested if value is not None and choice.allowed(value)]
    _report_missing(link, wanted)
    # 3. A new artifact, and 4. the previous selection, if it is still offered.
    selected = st.session_state.get(key)
    if selected is not None and not (choice.typed or choice.allowed(selected)):
        selected = None
    if wanted:
        selected = wanted[0]
    elif has_new_artifact:
        selected = choice.newest
    if selected is None:
        _set(key, choice.first or None)
    else:
        _set(key, choice.display_name(selected) or None)


def restore_selections(key: str, choice: Choice, first: Callable[[], Sequence[str]]) -> None:
    """Set the values of a multiselect, before it is drawn: the value of `show_next`, a followed
    link, the previous selection, or `first()`.

    A default selection is replaced by the new default when an artifact is created.
    """
    followed = _read_followed_link(key, choice.allowed)
    requested, has_new_artifact = _read_result(key, choice.newest)
    link = [value for value in followed if choice.allowed(value)]
    _report_missing(followed, link)
    selected = link or st.session_state.get(key)
    if requested is not None and choice.allowed(requested):
        selected = [requested]
    is_default = selected == st.session_state.get(f"{key}_default")
    if selected is None or (is_default and has_new_artifact):
        default = list(first())
        st.session_state[f"{key}_default"] = default
        _set(key, default)
    else:
        _set(key, [choice.display_name(value) for value in selected])


def restore_tab(key: str, labels: Sequence[str]) -> None:
    """Open the tab that a followed link names, before the tabs are drawn.

    Streamlit itself ignores a link to the first tab, the default, while another one is open.
    """
    requested = st.query_params.get(key)
    is_link = requested != st.session_state.get(f"{key}_linked")
    st.session_state[f"{key}_linked"] = requested
    if is_link and requested in labels and st.session_state.get(key) != requested:
        st.session_state[key] = requested


def restore_text(key: str, first: str) -> None:
    """Set the value of a text input, before it is drawn; text that the user deleted stays
    deleted.
    """
    text = st.session_state.get(key, first)
    # A parameter may occur several times in an address: the last one counts.
    for value in _read_followed_link(key)[-1:]:
        text = value
    _set(key, first if text is None else text)


def write(key: str, values: Sequence[str], allowed: Callable[[str], bool] = bool) -> None:
    """Write the values of a picker into the address; those not allowed there stay in the session."""
    found = [value for value in values if allowed(value)]
    st.session_state[f"{key}_linked"] = found
    st.session_state[f"{key}_visit"] = st.session_state.get(VISIT)
    # Each change of the address sends a message to the browser: avoid unnecessary ones.
    if st.query_params.get_all(key) == found:
        return
    if found:
        st.query_params[key] = found
    elif key in st.query_params:
        del st.query_params[key]


def read_link(key: str) -> str:
    """Return the value that a link just followed gives to a setting without a widget, "" if none."""
    return next(reversed(_read_followed_link(key)), "")


def show_next(key: str, value: str) -> None:
    """Set the value of a picker for the next run, because a drawn picker cannot be changed."""
    st.session_state[f"{key}_next"] = value


def mark_new(key: str, value: str) -> None:
    """Mark an artifact as new: as the value of a picker, or by its kind."""
    st.session_state[f"{key}_made"] = value


def follow_renames(workspace: Workspace) -> None:
    """Replace old names of renamed artifacts in the address by their new names, and say so.

    A workspace, a lesson, a typed word, a tab or a setting may have the same name: those stay.
    """
    for key in list(st.query_params):
        if key == WORKSPACE or key.startswith(LESSON) or key.endswith(TYPED) or key in RECORDED:
            continue
        values = st.query_params.get_all(key)
        renamed = {value: _find_new_value(workspace, key, value) for value in values}
        renamed = {old: new for old, new in renamed.items() if new}
        if not renamed:
            continue
        # Streamlit refuses to change what it has bound itself: a setting, never an artifact.
        with suppress(StreamlitAPIException):
            st.query_params[key] = [renamed.get(value, value) for value in values]
            for old, new in renamed.items():
                st.toast(
                    f"{plain(old)} was renamed: it is now {plain(new)}.", icon=":material/edit:"
                )


def _find_new_value(workspace: Workspace, key: str, value: str) -> str:
    """Return the value of a parameter with the new name of its artifact; "" if it was not renamed.

    A value is a name, which may have its kind before it or details after it: "model · demo-bert",
    "demo-diseases-base · seed 1". The end of a parameter also states the kind: adapt_model.
    """
    # 1. The kind, if the value or the parameter states it.
    kind = KIND_OF_KEY.get(key.rpartition("_")[2], "")
    prefix = ""
    for labeled, label in SPACE_KINDS.items():
        if value.startswith(f"{label}{SEPARATOR}"):
            kind = labeled
            prefix = f"{label}{SEPARATOR}"
    # 2. The new name, in place of the old one.
    name, separator, details = value.removeprefix(prefix).partition(SEPARATOR)
    new = find_new_name(workspace, name, kind) if is_name(name) else ""
    if not new:
        return ""
    return f"{prefix}{new}{separator}{details}"


def is_new(key: str, value: str) -> bool:
    """Return whether an artifact was created in this session.

    key: that of a picker, or the kind of the artifact. value: its name.
    """
    return bool(value) and st.session_state.get(f"{key}_made") == value


def _set(key: str, value: str | list[str] | None) -> None:
    """Set the value of a widget if it changes or its page was just entered.

    Setting the same value again would make the browser redraw the widget.
    """
    if _was_just_entered(key) or key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value


def _read_followed_link(key: str, allowed: Callable[[str], bool] = bool) -> list[str]:
    """Return the values in the address if a link was followed, that is, if the page did not write
    them itself; [] otherwise.

    If the page was just entered, the values also count as a link if the session has other ones: the
    browser may have sent older values. Values that are not allowed in the address are ignored,
    because only the session has them.
    """
    in_address = st.query_params.get_all(key)
    # The page writes the address after each picker: other values come from a link.
    if in_address != st.session_state.get(f"{key}_linked", []):
        outdated, since = st.session_state.get(f"{key}_outdated", ([], 0.0))
        is_outdated = in_address == outdated and time.monotonic() - since < OUTDATED_SECONDS
        return [] if is_outdated else in_address
    selected = st.session_state.get(key) or []
    values = [selected] if isinstance(selected, str) else list(selected)
    is_older = (
        _was_just_entered(key) and [value for value in values if allowed(value)] != in_address
    )
    return in_address if is_older else []


def _read_result(key: str, newest: str) -> tuple[str | None, bool]:
    """Return the value of `show_next`, and whether an artifact is new. If either is so, the present
    address is outdated for a while: it is from before the result.
    """
    shown = st.session_state.pop(f"{key}_next", None)
    has_new_artifact = _has_new_artifact(key, newest)
    if shown is not None or has_new_artifact:
        st.session_state[f"{key}_outdated"] = st.query_params.get_all(key), time.monotonic()
    return shown, has_new_artifact


def _report_missing(link: Sequence[str], found: Sequence[str]) -> None:
    """Report the values of a followed link that are not offered, such as a deleted artifact."""
    for value in dict.fromkeys(link):
        if value and value not in found:
            st.toast(
                f"The link refers to **{plain(value[:MAX_NAME_LENGTH])}**, which is not in this"
                " workspace. Another choice is selected instead.",
                icon=":material/link_off:",
            )


def _was_just_entered(key: str) -> bool:
    """Return whether the picker has not been drawn yet since its page was entered."""
    return st.session_state.get(f"{key}_visit") != st.session_state.get(VISIT)


def _has_new_artifact(key: str, newest: str) -> bool:
    """Return whether an artifact was created since the last run of the page; if so, mark it as new."""
    now = (st.session_state.get(WORKSPACE), newest)
    last = st.session_state.get(f"{key}_newest", now)
    st.session_state[f"{key}_newest"] = now
    # If the workspace was changed, its artifacts are different but not new.
    if not newest or last == now or last[0] != now[0]:
        return False
    mark_new(key, newest)
    return True


def workspace() -> Workspace:
    """Return the current workspace."""
    return open_workspace(st.session_state.get(WORKSPACE) or find_initial_folder().name)


def open_workspace(name: str) -> Workspace:
    """Return the workspace of a name: one beside the initial workspace, or a study in one of them,
    whose folder is itself a workspace (NAME/studies/STUDY).

    Raises InputError for anything else, so that an address cannot lead to another folder.
    """
    own, study = split_study(name)
    start = find_initial_folder()
    root = start
    if own != start.name:
        if is_read_only():
            raise InputError(
                "This read-only lab shows one workspace.", f"Open the workspace {start.name}."
            )
        root = start.parent / check_name(own)
    if not study:
        return Workspace(root)
    return Workspace(Workspace(root).folder(STUDIES, study))


def split_study(name: str) -> tuple[str, str]:
    """Return the workspace and the study that a name consists of; "" for no study."""
    own, *rest = name.split("/")
    if len(rest) == 2 and rest[0] == STUDIES and rest[1]:
        return own, rest[1]
    return name, ""


def name_study(study: str) -> str:
    """Return the name that opens a study of the current workspace as a workspace."""
    own, _ = split_study(st.session_state.get(WORKSPACE) or find_initial_folder().name)
    return f"{own}/{STUDIES}/{study}"


def find_initial_folder() -> Path:
    """Return the folder of the workspace that the visitor begins with: the one that the lab was
    started with, or the visitor's own.
    """
    own = visitors.find_folder()
    if own is not None:
        return own / OWN_WORKSPACE
    return Path(os.environ.get(WORKSPACE_VARIABLE, "workspace")).expanduser().resolve()
