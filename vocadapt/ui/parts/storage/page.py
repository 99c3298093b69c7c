"""The part Workspace: everything that the workspace holds, unused uploads, the trash, and copies of
the workspace.
"""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from vocadapt.lab.housekeeping.copies import copy_workspace, export_to_temporary_file, open_export
from vocadapt.lab.housekeeping.renames import find_id, list_dependents, rename
from vocadapt.lab.housekeeping.trash import (
    Deleted,
    delete_artifact,
    delete_job,
    empty_trash,
    list_trash,
    restore,
)
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.uploads import list_unused_uploads
from vocadapt.lab.workspace.disk_space import measure_files
from vocadapt.lab.workspace.drafts import convert_write_errors
from vocadapt.lab.workspace.limits import KEEP_DAYS, find_visitor_folder, read_limit, read_quota
from vocadapt.lab.workspace.listing import COLUMNS
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.notes import Note, find_name, load_notes, save_note
from vocadapt.lab.workspace.workspace import Artifact, Workspace, check_name, describe_hidden
from vocadapt.report.formats import format_size
from vocadapt.report.table import Column, Table
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import draw_heading, draw_note
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.intake import check_uploads
from vocadapt.ui.components.tables import draw_row_picker
from vocadapt.ui.state import address, paths
from vocadapt.ui.state.names import display_name, list_display_names
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count

MESSAGE = "storage_message"  # session key: the message shown after the rerun


def draw(workspace: Workspace) -> None:
    """Draw the items of the workspace, the trash, and the forms that copy and export it."""
    # 1. The artifacts and ended jobs; a selected one can be renamed, annotated and deleted.
    message = st.session_state.pop(MESSAGE, "")
    if message:
        st.success(message, icon=":material/check:")
    draw_quota(workspace)
    if hidden := workspace.list_hidden():
        texts = [plain(one) for one in describe_hidden(hidden)]
        st.warning("  \n".join(texts), icon=":material/warning:")
    items = list_items(workspace)
    if items:
        selected = draw_items(items)
        if selected:
            with mistakes.show_errors():
                draw_item(workspace, selected)
    else:
        pickers.draw_empty_state(
            "This workspace is empty.",
            "Everything that you make in the lab is listed here.",
            "text",
        )
    # 2. Uploads and trash, and copies of the whole workspace.
    trash, copies = st.columns(2, gap="large")
    with trash, mistakes.show_errors():
        draw_uploads(workspace, list_unused_uploads(workspace))
        draw_trash(workspace, list_trash(workspace))
    with copies, mistakes.show_errors():
        draw_copies(workspace, bool(items))


@dataclass(frozen=True)
class Item:
    """An artifact or an ended job, with its display name, note and size in bytes."""

    id: str
    display_name: str
    source: Artifact | Job
    created: str
    bytes: int
    note: str

    @property
    def kind(self) -> str:
        """Name of its kind, in the singular."""
        return ARTIFACTS.get(self.id.partition("/")[0], "job")

    @property
    def name(self) -> str:
        """Name of its folder."""
        return self.id.partition("/")[2]


def list_items(workspace: Workspace) -> list[Item]:
    """List the artifacts and ended jobs of a workspace: by kind, newest first."""
    notes = load_notes(workspace)
    # Once for each kind: there may be many jobs.
    names_of_kind = {kind: list_display_names(workspace, kind) for kind in ARTIFACTS}

    def build_item(source: Artifact | Job, kind: str, name: str, created: str) -> Item:
        id = find_id(source)
        note = notes.get(id, Note(""))
        shown = note.name or names_of_kind.get(kind, {}).get(name, name)
        return Item(id, shown, source, created, measure_files([str(source.folder)]), note.text)

    items = []
    for kind in ARTIFACTS:
        for artifact in workspace.artifacts(kind):
            items.append(build_item(artifact, kind, artifact.name, artifact.manifest.created))
    for job in queue.list_jobs(workspace):
        if not job.status().alive:
            # The id of a job begins with the time at which it was started.
            id = job.id
            started = f"{id[:4]}-{id[4:6]}-{id[6:8]} {id[9:11]}:{id[11:13]}"
            items.append(build_item(job, job.spec.kind, job.target.name, started))
    return items


def draw_quota(workspace: Workspace) -> None:
    """Draw how much of the quota a visitor uses, and how large an upload may be; nothing without a
    quota.
    """
    quota = read_quota()
    folder = find_visitor_folder(workspace.root)
    if quota is None or folder is None:
        return
    used = measure_files([str(folder)])
    text = f"{format_size(used)} of {format_size(quota)} are used, by all of your workspaces."
    st.progress(min(used / quota, 1.0), text=text)
    limits = f"A file to upload may have up to {count(st.get_option('server.maxUploadSize'))} MB."
    days = read_limit(KEEP_DAYS)
    if days is not None:
        limits += f" Your workspaces are removed after {count(days)} days without a visit."
    draw_note(limits)


def draw_items(items: list[Item]) -> Item | None:
    """Draw the table of artifacts and jobs; return the selected one."""
    total = format_size(sum(item.bytes for item in items))
    draw_note(f"{count(len(items))} items, {total}.")
    columns = (
        Column("kind", "Kind"),
        Column("display_name", "Name"),
        Column("name", "Folder", "Name of its folder in the workspace."),
        *COLUMNS,
    )
    ids = [item.id for item in items]
    purpose = "rename, annotate or delete it"
    place = draw_row_picker(Table("", columns, items), ids, "storage_items", purpose)
    return None if place is None else items[place]


def draw_item(workspace: Workspace, item: Item) -> None:
    """Draw the forms that rename, annotate and delete an artifact or a job."""
    with st.container(border=True):
        st.markdown(f"**{plain(item.display_name)}** · {item.kind}")
        name, note = st.columns(2, gap="large")
        with name:
            if draw_rename_form(workspace, item.source):
                _finish(f"{plain(item.display_name)} was renamed. Links to it still work.")
        with note:
            _draw_note_form(workspace, item)
        _draw_delete_button(workspace, item)


def draw_rename_form(workspace: Workspace, item: Artifact | Job) -> bool:
    """Draw the form that renames an artifact or a job; return whether it was renamed."""
    old, help, may_be_empty = item.folder.name, None, False
    if isinstance(item, Job):
        old = find_name(workspace, find_id(item))
        may_be_empty = True
        help = "A job without a name of its own is shown by the name of its result."
    name = st.text_input("Name", old, key=f"storage_name_{find_id(item)}", help=help).strip()
    is_ready = name != old and (bool(name) or may_be_empty)
    pressed = st.button(
        "Rename", icon=":material/edit:", disabled=not is_ready, key="storage_rename"
    )
    if pressed:
        rename(workspace, item, name)
    return pressed


def _draw_note_form(workspace: Workspace, item: Item) -> None:
    text = st.text_area("Note", item.note, key=f"storage_note_{item.id}", height=80)
    if st.button(
        "Save note",
        icon=":material/edit_note:",
        disabled=text.strip() == item.note,
        key="storage_save",
    ):
        save_note(workspace, item.id, text)
        _finish(f"Note on {plain(item.display_name)} saved.")


def _draw_delete_button(workspace: Workspace, item: Item) -> None:
    """Draw the button that moves an item to the trash, after naming what depends on it."""
    with st.popover("Delete …", icon=":material/delete:"):
        dependents: list[Artifact] = []
        if isinstance(item.source, Artifact):
            dependents = list_dependents(workspace, item.source)
        if dependents:
            names = [
                f"{plain(display_name(workspace, one.kind, one.name))} ({ARTIFACTS[one.kind]})"
                for one in dependents
            ]
            st.warning(
                f"Made from it: {', '.join(names)}. If you delete it, they will be out of date, and some can"
                " no longer be opened.",
                icon=":material/account_tree:",
            )
        st.markdown(
            f"**{plain(item.display_name)}** moves to the trash, from which it can be restored."
        )
        if st.button("Move to the trash", type="primary", key="storage_delete"):
            if isinstance(item.source, Artifact):
                delete_artifact(workspace, item.source)
            else:
                delete_job(workspace, item.source)
            _finish(f"{plain(item.display_name)} is in the trash.")


def draw_trash(workspace: Workspace, entries: list[Deleted]) -> None:
    """Draw the deleted items, each with a button to restore it, and the button to empty the trash."""
    draw_heading("Trash")
    if not entries:
        draw_note("The trash is empty.")
        return
    for entry in entries:
        words, button = st.columns([3, 1], vertical_alignment="center")
        kind = ARTIFACTS.get(entry.kind, "job")
        words.markdown(f"{plain(entry.name)} · {kind} · {format_size(entry.bytes)}")
        if button.button("Restore", key=f"storage_restore_{entry.id}", width="stretch"):
            _restore(workspace, entry)
    total = format_size(sum(entry.bytes for entry in entries))
    with st.popover(f"Empty the trash · {total}", icon=":material/delete_forever:"):
        st.markdown(f"{count(len(entries))} items will be deleted permanently.")
        if st.button("Delete permanently", type="primary", key="storage_empty"):
            empty_trash(workspace)
            _finish("The trash is empty.")


def draw_uploads(workspace: Workspace, files: list[Path]) -> None:
    """Draw the uploads that nothing was made from yet, each with a button to delete it."""
    if not files:
        return
    draw_heading("Uploads")
    draw_note("Files that were uploaded, but not imported. They are deleted after a day.")
    for file in files:
        words, button = st.columns([3, 1], vertical_alignment="center")
        words.markdown(f"{plain(file.name)} · {format_size(measure_files([str(file)]))}")
        inside = file.relative_to(workspace.root)
        if button.button("Delete", key=f"storage_upload_{inside}", width="stretch"):
            with convert_write_errors(file):
                file.unlink(missing_ok=True)
            _finish(f"{plain(file.name)} was deleted.")


def _restore(workspace: Workspace, entry: Deleted) -> None:
    """Restore a deleted item, under another name if its name is taken."""
    name = entry.name
    message = f"{plain(entry.name)} was restored."
    if workspace.folder(entry.kind, name).exists():
        name = workspace.find_free_name(entry.kind, name)
        message = f"{plain(entry.name)} was restored as {plain(name)}: its name was taken."
    restore(workspace, entry, name)
    _finish(message)


def draw_copies(workspace: Workspace, is_full: bool) -> None:
    """Draw the forms that copy and export the workspace, and open an exported one."""
    draw_heading("Whole workspace")
    draw_note(
        "Copies contain all artifacts and notes, but no jobs, uploads or trash, and no text that"
        " was imported by its path."
    )
    if is_full:
        with st.popover("Copy …", icon=":material/content_copy:"):
            name = st.text_input("Name of the copy", key="storage_copy_name").strip()
            if st.button("Copy", type="primary", disabled=not name, key="storage_copy"):
                copy = copy_workspace(workspace, workspace.root.parent / check_name(name))
                address.go_to("home", workspace=copy.root.name)
        st.download_button(
            "Export as one file",
            lambda: export_to_temporary_file(workspace),
            f"{workspace.root.name}.zip",
            "application/zip",
            on_click="ignore",
            icon=":material/folder_zip:",
            key="storage_export",
        )
    with st.popover("Open an exported workspace", icon=":material/unarchive:"):
        upload = st.file_uploader("File", type=["zip"], key="storage_upload")
        name = st.text_input(
            "Name of the new workspace", key="storage_open_name", help=explain("Workspace")
        ).strip()
        is_ready = upload is not None and bool(name)
        pressed = st.button("Open", type="primary", disabled=not is_ready, key="storage_open")
        if pressed and upload:
            check_uploads([upload])
            folder = workspace.root.parent / check_name(name)
            opened = open_export(upload, folder, paths.check_allowed)
            address.go_to("home", workspace=opened.root.name)


def _finish(message: str) -> None:
    """Rerun the page, then show a message."""
    st.session_state[MESSAGE] = message
    st.rerun()
