"""A limit on the uploads that a session holds in the memory of the server.

A page saves what it requested at once and frees it. A program may send more, which Streamlit keeps
until the session ends.
"""

from typing import Any

MAX_FILES = 3  # of the largest size that can be uploaded
CONTENT_TOO_LARGE = 413  # HTTP status


def install() -> None:
    """Limit the uploads of every session of this process, and clean their names; idempotent."""
    from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

    if getattr(MemoryUploadedFileManager.add_file, "is_limited", False):
        return
    add = MemoryUploadedFileManager.add_file

    def add_file(manager: MemoryUploadedFileManager, session_id: str, file: Any) -> None:
        check_upload_size(manager, session_id, file)
        # Streamlit raises for the type of a name with a NUL.
        name = "".join(character for character in file.name if character.isprintable())
        add(manager, session_id, file._replace(name=name))

    add_file.is_limited = True  # type: ignore[attr-defined]
    MemoryUploadedFileManager.add_file = add_file  # type: ignore[method-assign, assignment]


def check_upload_size(manager: Any, session_id: str, file: Any) -> None:
    """Raise HTTPException if the session would hold more than MAX_FILES of the largest size."""
    import streamlit as st
    from starlette.exceptions import HTTPException

    limit = MAX_FILES * 1_000_000 * int(st.get_option("server.maxUploadSize"))
    held = manager.file_storage.get(session_id, {}).values()
    size = sum(len(one.data) for one in held if one.file_id != file.file_id) + len(file.data)
    if size > limit:
        raise HTTPException(
            status_code=CONTENT_TOO_LARGE, detail="Too many uploads at once: upload fewer files."
        )
