"""Jobs: the long steps of a workspace, whether this page was open or not."""

import streamlit as st

from vocadapt.ui.frame import frame
from vocadapt.ui.jobs import view

workspace = frame.workspace()
st.title("Jobs")
st.markdown(
    "Long steps run beside the pages and go on without them: see how far each is, stop it, or let"
    " it go on."
)
view.board(workspace)
