"""A small text file of the user: typed, or filled by an upload."""

import streamlit as st

from vocadapt.errors import InputError


def draw_text_file(key: str, label: str, example: str, help: str, height: int = 360) -> str:
    """Draw an upload and a text field, which the upload fills; return the text.

    key: of the text field, and the beginning of that of the upload. Raises InputError for an upload
    that is not text.
    """
    uploaded = st.file_uploader("Upload a file", type=["toml"], key=f"{key}_upload")
    if uploaded is not None and st.session_state.get(f"{key}_uploaded") != uploaded.file_id:
        st.session_state[f"{key}_uploaded"] = uploaded.file_id
        try:
            st.session_state[key] = uploaded.getvalue().decode("utf-8")
        except UnicodeDecodeError:
            raise InputError("The file is not UTF-8 text.", "Upload a TOML file.") from None
    st.session_state.setdefault(key, example)
    return str(st.text_area(label, key=key, height=height, help=help))
