"""Intake of texts and vectors: uploads, written to disk at once, or a path on this machine."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from vocadapt.lab.workspace.disk_space import check_disk_space
from vocadapt.lab.workspace.drafts import convert_write_errors
from vocadapt.lab.workspace.uploads import is_upload, remove_unused_uploads
from vocadapt.lab.workspace.workspace import RESERVED, UPLOADS, Workspace
from vocadapt.text.corpus import READERS
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import megabytes
from vocadapt.ui.frame import mistakes
from vocadapt.ui.serving.paths import resolve_allowed_path

VOCABULARIES = f"{UPLOADS}/vocabularies"  # bare vocab.txt files
TEXT_TYPES = ("gz", *(suffix[1:] for suffix in READERS))
VECTOR_TYPES = ("txt", "vec", "bin", "gz", "npy", "safetensors")
TASK_TYPES = ("txt", "tsv", "csv", "jsonl", "json", "conll", "iob", "gz")
ENDINGS = re.compile(
    rf"(?:\.(?:{'|'.join(sorted({*TEXT_TYPES, *VECTOR_TYPES, *TASK_TYPES}))}))+$", re.IGNORECASE
)
MAX_NAME_LENGTH = 80  # characters of an upload's name


def choose_files(
    workspace: Workspace, key: str, types: Sequence[str], several: bool = True
) -> list[Path]:
    """Show the inputs for files, by upload or by path; return their paths, empty if there are none."""
    upload, path = st.tabs(["Upload", "A path on this machine"])
    with upload:
        # Uploads are saved at once: the session keeps paths, not data.
        turn = st.session_state.setdefault(f"{key}_turn", 0)
        given = st.file_uploader(
            "Files",
            type=list(types),
            accept_multiple_files=several,
            key=f"{key}_{turn}",
            label_visibility="collapsed",
        )
        uploads = given if isinstance(given, list) else list(filter(None, [given]))
        if uploads:
            with mistakes.show_errors():
                st.session_state[f"{key}_files"] = save_uploads(uploads, workspace)
                st.session_state[f"{key}_turn"] = turn + 1  # a new widget frees the uploaded data
                st.rerun()
        kept = [file for file in st.session_state.get(f"{key}_files", []) if file.is_file()]
        for file in kept:
            st.markdown(f":material/check: {plain(file.name)} · {megabytes(file.stat().st_size)}")
    with path:
        typed = st.text_input(
            "File or folder",
            key=f"{key}_path",
            persist_state="session",
            placeholder="/home/me/articles.txt.gz",
            help=(
                "Reads a file or folder on this machine. For texts over 200 MB, the limit of"
                " an upload."
            ),
        ).strip()
    if typed:
        return [resolve_allowed_path(typed)]
    return kept


def choose_one_each(workspace: Workspace, key: str, labels: Mapping[str, str]) -> dict[str, Path]:
    """Show the inputs for one file of a task in each role, in columns; return the files by role.

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


def forget_files(workspace: Workspace, key: str, files: Mapping[str, Path]) -> None:
    """Forget the files that `choose_one_each` returned, and delete the uploads: there are copies."""
    for role, file in files.items():
        hand_over(f"{key}_{role}")
        if is_upload(file, workspace):
            file.unlink(missing_ok=True)


def save_uploads(
    uploads: Sequence[UploadedFile], workspace: Workspace, place: str = UPLOADS
) -> list[Path]:
    """Save uploads in a folder of the workspace under safe, free names.

    Uploads that were never imported are removed first.
    """
    folder, saved = workspace.root / place, []
    with convert_write_errors(folder):
        remove_unused_uploads(workspace)
        folder.mkdir(parents=True, exist_ok=True)
    check_disk_space(folder, sum(upload.getbuffer().nbytes for upload in uploads))
    for upload in uploads:
        # text.txt, 2-text.txt …
        name = make_safe_name(upload.name)
        names = (name, *(f"{number}-{name}" for number in range(2, 10_000)))
        target = next(folder / free for free in names if not (folder / free).exists())
        _save(upload, target)
        saved.append(target)
    return saved


def _save(upload: BinaryIO, target: Path) -> None:
    """Save one upload completely or not at all; raise InputError if it cannot be written."""
    with convert_write_errors(target):
        try:
            # x: two sessions may have found the same free name.
            with target.open("xb") as file:
                shutil.copyfileobj(upload, file)
        except BaseException:
            target.unlink(missing_ok=True)
            raise


def make_safe_name(name: str) -> str:
    """Return a file name that is valid on any system: letters, digits, dots and dashes, known
    endings kept.

    `../../x y.txt` -> `x-y.txt`, `.txt` -> `upload.txt`, `con.txt` -> `upload-con.txt`.
    """
    # A browser may send a whole path, of any system.
    last = re.split(r"[/\\]", name)[-1]
    cleaned = re.sub(r"[^A-Za-z0-9._-]+", "-", last).rstrip(".-")
    found = ENDINGS.search(cleaned)
    ending = found[0].lower() if found else ""
    stem = cleaned[: len(cleaned) - len(ending)].strip(".-_")
    stem = stem[: MAX_NAME_LENGTH - len(ending)].rstrip(".-")
    if not stem:
        return f"upload{ending or '.txt'}"
    # Windows reserves names such as con, with any ending.
    if RESERVED.fullmatch(stem + ending):
        return f"upload-{stem}{ending}"
    return stem + ending


def hand_over(key: str) -> None:
    """Forget the uploads of a form: the job that was started owns and removes them."""
    st.session_state.pop(f"{key}_files", None)


def stem(files: Sequence[Path]) -> str:
    """Return a name for an artifact made from these files."""
    if not files:
        return "text"
    return files[0].name.split(".")[0]
