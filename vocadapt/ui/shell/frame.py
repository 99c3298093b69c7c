"""Frame of every page: the workspace, the running jobs, and user errors as messages."""

from collections.abc import Collection
from importlib import import_module

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.extensions import check_extensions
from vocadapt.lab.workspace.limits import check_not_read_only, is_read_only
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.workspace import Workspace, check_name
from vocadapt.ui.components import blocks, glossary, mistakes
from vocadapt.ui.components.setting_inputs import forget_inputs
from vocadapt.ui.jobs import overview, panel, results
from vocadapt.ui.parts.lessons import bar
from vocadapt.ui.state import address, guard, paths, preload, visitors
from vocadapt.ui.state.pages import DRAWN, PAGES, DrawPart, NextPart, Part, format_title
from vocadapt.ui.text.markup import plain

# Session keys: the folders of workspaces that were there, and the name of one that is to be made.
SEEN, NEW = "seen_workspaces", "new_workspace_name"


def draw(page: st.Page) -> None:
    """Draw the sidebar and a page; user errors are shown as messages. Any other exception is shown
    by `mistakes.draw_unexpected_error`.
    """
    # For a lab that `streamlit run` started; the server of this package has done both.
    paths.warn_once()
    guard.disable_address_requests()
    if visitors.is_sign_in_required() and not visitors.is_signed_in():
        visitors.draw_sign_in()
        return
    with mistakes.show_errors():
        visitors.record_this_visit()
        check_extensions()
        draw_sidebar()
        overview.draw_header_strip(address.workspace())
        _warn_if_gone(address.workspace())
        _draw_back_button()
        page.run()
    # Not reached if the run is interrupted: the page is then drawn again.
    preload.report_page_drawn()


def draw_page(name: str) -> None:
    """Draw a page: its title, its parts as tabs if there are several, and where to continue.

    Only the open tab is drawn.
    """
    page = next(one for one in PAGES if one.name == name)
    if len(page.parts) == 1:
        part = page.parts[0]
        st.title(part.title)
        _draw_part(part)
        return
    st.title(page.title)
    labels = [part.title for part in page.parts]
    address.restore_tab(page.tab_key, labels)
    tabs = st.tabs(labels, key=page.tab_key, bind="query-params")
    for part, tab in zip(page.parts, tabs, strict=True):
        if tab.open:
            with tab:
                _draw_part(part)


def _draw_part(part: Part) -> None:
    """Draw a part: one sentence, its terms, the newest job of its steps, its view, and, unless a
    lesson is open, a link to the next part.
    """
    address.enter(part.name)
    forget_inputs()
    workspace = address.workspace()
    with mistakes.show_errors():
        address.follow_renames(workspace)
    if not bar.draw_lesson_bar(workspace):
        return
    st.markdown(part.about)
    glossary.offer_terms(part)
    # The container is always present: a failed job must not redraw what is below it.
    with st.container():
        panel.draw_job_panel(workspace, part)
    following = None
    with mistakes.show_errors():
        following = _find_draw(part)(workspace)
    # While a lesson is open, its bar says where to continue: another link would lead out of it.
    if bar.find_step() is None:
        _draw_next(workspace, following or choose_following(workspace, part))


def _find_draw(part: Part) -> DrawPart:
    """Return what draws a part. Its module is imported only when the part is opened."""
    if part.name in DRAWN:
        return DRAWN[part.name]
    module = part.module or f"{part.name}.page"
    draw: DrawPart = import_module(f"vocadapt.ui.parts.{module}").draw
    return draw


def choose_following(workspace: Workspace, part: Part) -> NextPart | None:
    """Return the first part to continue with that the workspace is ready for, None if there is
    none.
    """
    for following in part.following:
        if following.needs and not workspace.artifacts(following.needs):
            continue
        if following.unless and workspace.artifacts(following.unless):
            continue
        return following
    return None


def _draw_next(workspace: Workspace, following: NextPart | None) -> None:
    """Draw the link to the next part, with the selections that it takes over."""
    if following is None:
        return
    query = {
        key: st.query_params[own] for key, own in following.carry.items() if own in st.query_params
    }
    with st.container(key="next_part", border=True, horizontal=True, vertical_alignment="center"):
        blocks.draw_link(following.part, f"**Next: {format_title(following.part)}**", **query)
        blocks.draw_note(following.why)


def draw_sidebar() -> None:
    """Draw the workspace picker below the navigation, or open the page that a button requested."""
    start = address.find_initial_folder()
    # In the last run a button may have requested another page (`address.go_to`).
    next_page = st.session_state.pop(address.NEXT_PAGE, None)
    # The other workspaces in the folder of the initial one.
    siblings = []
    if not is_read_only():
        siblings = [
            folder.name
            for folder in start.parent.glob("[!.]*/")  # without the draft of a copy
            if any(any(folder.glob(f"{kind}/*/manifest.json")) for kind in ARTIFACTS)
        ]
    linked = st.query_params.get(address.WORKSPACE, "")
    current = st.session_state.get(address.WORKSPACE) or linked or start.name
    if next_page and next_page[1].get(address.WORKSPACE, current) != current:
        # Another workspace on the same page: the picker would keep its value.
        current = st.session_state[address.WORKSPACE] = next_page[1][address.WORKSPACE]
    others = {current, *filter(None, [linked]), *siblings} - {start.name}
    names = [start.name, *sorted(others)]  # first: the value of the picker is set without a default
    with st.sidebar:
        _draw_notices()
        st.selectbox(
            "Workspace",
            names,
            key=address.WORKSPACE,
            bind=None if next_page else "query-params",  # see address.go_to
            help=None if paths.is_for_others() else f"A folder in {plain(str(start.parent))}.",
        )
        if next_page:
            st.switch_page(next_page[0], query_params=next_page[1])
        # A key for each workspace closes the form when another workspace is opened.
        key = f"new_workspace_{current}"
        with st.popover("New workspace", icon=":material/add:", width="stretch", key=key):
            _draw_new_workspace(names)
        results.select_new_results(address.workspace())
        overview.draw_sidebar_jobs(address.workspace())
        address.draw_script()


def _warn_if_gone(workspace: Workspace) -> None:
    """Warn if the folder of a workspace, which was there or which a link names, is not there."""
    seen: set[str] = st.session_state.setdefault(SEEN, set())
    root = workspace.root
    if root.is_dir():
        seen.add(str(root))
        return
    is_new = root.name == st.session_state.get(NEW) or root == address.find_initial_folder()
    if str(root) in seen or not is_new:
        st.warning(
            f"The folder of the workspace {plain(root.name)} is not there: it was renamed or"
            " removed, or nothing was saved in it yet. Select another workspace, or save something"
            " here.",
            icon=":material/folder_off:",
        )


def _draw_notices() -> None:
    """Draw what a visitor of a served lab must know: it is read-only, the workspace ends with the
    tab, or which account is signed in.
    """
    if is_read_only():
        st.info("Read-only: look at everything, nothing is saved.", icon=":material/lock:")
    if visitors.has_tab_only():
        st.warning(
            "Your browser keeps no cookie: this workspace ends with the tab.",
            icon=":material/cookie_off:",
        )
    if visitors.is_sign_in_required():
        visitors.draw_account()


def _draw_back_button() -> None:
    """Draw the button that leaves a study, whose folder is itself a workspace, above the page."""
    own, study = address.split_study(st.session_state.get(address.WORKSPACE) or "")
    if not study:
        return
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        pressed = st.button(
            f"Back to {plain(own)}", icon=":material/arrow_back:", key="leave_study"
        )
        blocks.draw_note(
            f"Inside the study **{plain(study)}**: all pages show its own models, runs and jobs."
        )
    if pressed:
        address.go_to("studies", **{address.WORKSPACE: own, "studies_study": study})


def _draw_new_workspace(taken: Collection[str]) -> None:
    """Draw the form of a new workspace; it is made when something is first written into it."""
    with st.form("new_workspace", border=False), mistakes.show_errors():
        name = st.text_input("Name of the workspace", placeholder="my-field").strip()
        pressed = st.form_submit_button("Create")
        if not pressed:
            return
        if name in taken:
            raise InputError(f"There is a workspace {name!r} already.", "Type another name.")
        check_not_read_only()
        st.session_state[NEW] = check_name(name)
        address.go_to("home", **{address.WORKSPACE: name})
