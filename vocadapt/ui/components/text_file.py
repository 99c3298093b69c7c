"""A small text file of the user: typed, or filled by an upload."""

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.system.files import MAX_TOML_BYTES, MEGABYTE
from vocadapt.ui.components.intake import check_uploads


def draw_text_file(key: str, label: str, example: str, help: str, height: int = 360) -> str:
    """Draw an upload and a text field, which the upload fills; return the text.

    key: of the text field, and the beginning of that of the upload. Raises InputError for an upload
    that is too large or not text.
    """
    uploaded = st.file_uploader(
        "Upload a file",
        type=["toml"],
        key=f"{key}_upload",
        max_upload_size=MAX_TOML_BYTES // MEGABYTE,
    )
    if uploaded is not None and st.session_state.get(f"{key}_uploaded") != uploaded.file_id:
        st.session_state[f"{key}_uploaded"] = uploaded.file_id
        check_uploads([uploaded], MAX_TOML_BYTES // MEGABYTE)
        try:
            st.session_state[key] = uploaded.getvalue().decode("utf-8")
        except UnicodeDecodeError:
            raise InputError("The file is not UTF-8 text.", "Upload a TOML file.") from None
    st.session_state.setdefault(key, example)
    return str(st.text_area(label, max_chars=MAX_TOML_BYTES, key=key, height=height, help=help))
