"""Home: what this is, how far the workspace has come, what to do next."""

import streamlit as st

from vocadapt.lab.demo import is_demo_installed
from vocadapt.ui.frame import frame
from vocadapt.ui.home import start, walk
from vocadapt.ui.jobs import panel

workspace = frame.workspace()
st.title("vocadapt")
st.markdown(
    "Teach a language model the words of your domain: from a text to an ordinary model folder,"
    " every step in the open."
)
walk.strip(workspace)
panel.job_panel(
    workspace, [stop for stop in ("corpus", "vectors", "import", "alignment", "model", "finetune")]
)

recent = walk.recent(workspace)
if recent:
    st.subheader("Made here lately")
    st.dataframe(recent, hide_index=True, width="stretch")
    if is_demo_installed() and not workspace.artifacts("corpora"):
        start.bring_a_text(workspace)
else:
    start.ways_to_begin(workspace)
st.markdown(
    f":small[:gray[The workspace is the folder `{workspace.root}`. Nothing you put in leaves this"
    " machine.]]"
)
