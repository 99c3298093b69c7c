"""The part Home: the demo for an empty workspace, the walk, lessons, and recent artifacts."""

import streamlit as st

from vocadapt.lab.demo import is_demo_installed
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.parts.home import view
from vocadapt.ui.state.paths import is_for_others


def draw(workspace: Workspace) -> None:
    """Draw the offer of the demo, the five steps, and the recent artifacts."""
    # 1. An empty workspace: two ways to start.
    is_empty = view.is_empty(workspace)
    if is_empty and is_demo_installed():
        view.draw_beginning(workspace)
    # 2. The walk and the lessons.
    view.draw_walk(workspace)
    # 3. What was made last.
    view.draw_recent(workspace)
    if is_demo_installed() and not is_empty:
        view.offer_demo(workspace)
    place = (
        f"The workspace is the folder `{workspace.root}`. Your data does not leave this machine."
    )
    if is_for_others():
        place = "Your data is kept on the server of this lab, and is not sent anywhere else."
    st.markdown(f":small[:gray[{place}]]")
