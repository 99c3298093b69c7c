"""The workspace of the visitor's session."""

import os
from pathlib import Path

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace, check_name
from vocadapt.ui.frame.address import WORKSPACE as HERE

WORKSPACE = "VOCADAPT_WORKSPACE"  # environment variable: the workspace to begin with


def workspace() -> Workspace:
    """Return the current workspace."""
    start = find_start()
    name = st.session_state.get(HERE) or start.name
    if name == start.name:
        return Workspace(start)
    return Workspace(start.parent / check_name(name))


def find_start() -> Path:
    """Return the folder of the workspace that the lab was started with."""
    return Path(os.environ.get(WORKSPACE, "workspace")).expanduser().resolve()
