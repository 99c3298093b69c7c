"""File inputs: uploads, which are saved immediately, or a path on this machine."""

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from itertools import count as count_from
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from vocadapt.errors import InputError
from vocadapt.lab.jobs.uploads import is_upload, remove_unused_uploads
from vocadapt.lab.workspace.disk_space import reserve_space
from vocadapt.lab.workspace.drafts import DRAFT, convert_write_errors
from vocadapt.lab.workspace.locks import wait_for_lock
from vocadapt.lab.workspace.workspace import UPLOADS, Workspace, simplify_name
from vocadapt.system.files import MEGABYTE
from vocadapt.text.corpus import READERS
from vocadapt.ui.components import mistakes
from vocadapt.ui.state.paths import name_machine, resolve_allowed_path
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count, megabytes

VOCABULARIES = f"{UPLOADS}/vocabularies"  # bare vocab.txt files
TEXT_TYPES = ("gz", *(suffix[1:] for suffix in READERS))
VECTOR_TYPES = ("txt", "vec", "bin", "gz", "npy", "safetensors")
TASK_TYPES = ("txt", "tsv", "csv", "jsonl", "json", "conll", "iob", "gz")
ENDINGS = re.compile(
    rf"(?:\.(?:{'|'.join(sorted({*TEXT_TYPES, *VECTOR_TYPES, *TASK_TYPES}))})){{1,2}}$",
    re.IGNORECASE,
)
MAX_NAME_LENGTH = 80  # characters of an upload's name
MAX_UPLOADS = 100  # files at once
MAX_TABLE_MB = 20  # of a file that a page reads as a whole: a table, a vocabulary, lines of text


def choose_files(
    workspace: Workspace, key: str, types: Sequence[str], several: bool = True
) -> list[Path]:
    """Show inputs for files, by upload or by path; return the paths of those given last, [] if
    there are none.
    """
    machine = name_machine()
    upload, path = st.tabs(["Upload", f"A path on {machine}"])
    with upload:
        saved = _draw_uploads(workspace, key, types, several)
    with path:
        typed = st.text_input(
            "File or folder",
            key=f"{key}_path",
            persist_state="session",
            placeholder="/home/me/articles.txt.gz",
            help=(
                f"Reads a file or folder on {machine}. Use it for texts over"
                f" {count(st.get_option('server.maxUploadSize'))} MB, which cannot be uploaded."
            ),
        ).strip()
    if typed:
        return [resolve_allowed_path(typed)]
    return saved


def _draw_uploads(
    workspace: Workspace, key: str, types: Sequence[str], several: bool
) -> list[Path]:
    """Draw the input for uploads and the saved ones, which can be deleted; return their paths."""
    # Save uploads immediately, so that the session keeps their paths and not their data.
    turn = st.session_state.setdefault(f"{key}_turn", 0)
    uploaded = st.file_uploader(
        "Files",
        type=list(types),
        accept_multiple_files=several,
        key=f"{key}_{turn}",
        label_visibility="collapsed",
    )
    uploads = uploaded if isinstance(uploaded, list) else list(filter(None, [uploaded]))
    if uploads:
        with mistakes.show_errors():
            st.session_state[f"{key}_files"] = save_uploads(uploads, workspace)
            st.session_state[f"{key}_turn"] = turn + 1  # a new widget frees the uploaded data
            st.session_state[f"{key}_path"] = ""  # the last input counts
            st.rerun()
    saved: list[Path] = [one for one in st.session_state.get(f"{key}_files", []) if one.is_file()]
    for file in saved:
        with st.container(horizontal=True, vertical_alignment="center"):
            size = megabytes(file.stat().st_size)
            st.markdown(f":material/check: {plain(file.name)} · {size}", width="content")
            st.button(
                f"Delete {plain(file.name)}",
                key=f"{key}_delete_{file.name}",
                icon=":material/close:",
                type="tertiary",
                on_click=_delete_upload,
                args=(file,),
            )
    return saved


def _delete_upload(file: Path) -> None:
    with suppress(OSError):  # such as another session that did the same
        file.unlink(missing_ok=True)


def choose_file_per_role(
    workspace: Workspace, key: str, labels: Mapping[str, str]
) -> dict[str, Path]:
    """Show inputs for the files of a task, one file per role, in columns; return them by role.

    labels: role -> label (Markdown).
    """
    files: dict[str, Path] = {}
    for column, (role, label) in zip(st.columns(len(labels)), labels.items(), strict=True):
        with column:
            st.markdown(label)
            found = choose_files(workspace, f"{key}_{role}", TASK_TYPES, several=False)
        if found:
            files[role] = found[0]
    return files


def clear_files(workspace: Workspace, key: str, files: Mapping[str, Path]) -> None:
    """Clear the inputs of `choose_file_per_role`, and delete the uploads, which have been copied."""
    for role, file in files.items():
        clear_uploads(f"{key}_{role}")
        if is_upload(file, workspace):
            file.unlink(missing_ok=True)


def save_uploads(
    uploads: Sequence[UploadedFile], workspace: Workspace, place: str = UPLOADS
) -> list[Path]:
    """Save uploads in a folder of the workspace under safe, unused names; return their paths.

    Earlier uploads that were never imported are deleted first. Raises InputError as `check_uploads`
    does, and if the disk or the visitor's quota has too little room for all of them.
    """
    check_uploads(uploads)
    folder = workspace.root / place
    with convert_write_errors(folder):
        remove_unused_uploads(workspace)
        folder.mkdir(parents=True, exist_ok=True)
    size = sum(upload.getbuffer().nbytes for upload in uploads)
    # No place of its own: other sessions may fill the same folder.
    with reserve_space(folder / uuid4().hex, size):
        return [_save(upload, folder, make_safe_name(upload.name)) for upload in uploads]


def check_uploads(uploads: Sequence[UploadedFile], max_megabytes: int | None = None) -> None:
    """Raise InputError for more than MAX_UPLOADS files, or one that is larger than the limit.

    max_megabytes: of each file; by default the limit of the server. The browser checks it too, but
    a program that sends files need not.
    """
    if len(uploads) > MAX_UPLOADS:
        raise InputError(
            f"{count(len(uploads))} files are too many to upload at once; at most"
            f" {count(MAX_UPLOADS)} are possible.",
            f"Give a path on {name_machine()}, or upload them in parts.",
            code="too-many-files",
        )
    limit = max_megabytes or st.get_option("server.maxUploadSize")
    for upload in uploads:
        size = upload.getbuffer().nbytes
        if size > limit * MEGABYTE:
            raise InputError(
                f"{upload.name[:MAX_NAME_LENGTH]}: {megabytes(size)} are too large; at most"
                f" {count(limit)} MB can be uploaded here.",
                f"Give a path on {name_machine()}, or a smaller file.",
                code="file-too-large",
            )


def _save(upload: BinaryIO, folder: Path, name: str) -> Path:
    """Save an upload completely or not at all, and return its path: text.txt, 2-text.txt …

    Raises InputError if it cannot be written.
    """
    draft = folder / f".{name}.{uuid4().hex[:12]}{DRAFT}"
    with convert_write_errors(folder / name):
        try:
            with draft.open("xb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # an unlocked draft is removed as abandoned
                shutil.copyfileobj(upload, file)
                file.flush()
                # Another session may save a file of the same name.
                with wait_for_lock(folder):
                    names = chain([name], (f"{number}-{name}" for number in count_from(2)))
                    target = next(folder / free for free in names if not (folder / free).exists())
                    os.rename(draft, target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    return target


def make_safe_name(name: str) -> str:
    """Return a file name that is valid on any system, of ASCII letters, digits, dashes and
    underscores; known endings are kept: `../../x y.txt` -> `x-y.txt`.
    """
    # A browser may send a full path, with the separators of any system.
    last = re.split(r"[/\\]", name)[-1].rstrip(".")
    ending = ENDINGS.search(last)
    if ending is None:
        return simplify_name(last)
    return simplify_name(last[: ending.start()]) + ending[0].lower()


def clear_uploads(key: str) -> None:
    """Clear the uploads of a form: the started job owns them and deletes them."""
    st.session_state.pop(f"{key}_files", None)


def suggest_name(files: Sequence[Path]) -> str:
    """Return the default name of an artifact that is created from these files."""
    if not files:
        return "text"
    return files[0].name.split(".")[0]


def draw_kept_upload(
    workspace: Workspace,
    label: str,
    types: Sequence[str],
    key: str,
    place: str,
    read: Callable[[Path], object],
) -> Path | None:
    """Draw the upload of a small file that a folder of the workspace keeps; return a new one.

    read: raises InputError for an invalid file, which is not kept.
    """
    turn = st.session_state.setdefault(f"{key}_turn", 0)
    uploaded = st.file_uploader(
        label, type=list(types), key=f"{key}_{turn}", max_upload_size=MAX_TABLE_MB
    )
    if uploaded is None:
        return None
    # A new key empties the upload; otherwise each rerun would save the same file again.
    st.session_state[f"{key}_turn"] = turn + 1
    return keep_upload(uploaded, workspace, place, read)


def keep_upload(
    uploaded: UploadedFile, workspace: Workspace, place: str, read: Callable[[Path], object]
) -> Path:
    """Save an upload in a folder of the workspace, unless `read` raises InputError."""
    check_uploads([uploaded], MAX_TABLE_MB)
    (file,) = save_uploads([uploaded], workspace, place)
    try:
        read(file)
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    return file
