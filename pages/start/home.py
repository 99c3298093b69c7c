"""Home: what this is, how far the workspace has come, what to do next."""

import streamlit as st

from vocadapt.ui import choose, frame, job_panel, walk

workspace = frame.workspace()
st.title("vocadapt")
st.markdown(
    "Teach a language model the words of your domain: from a text to an ordinary model folder, every step in the open."
)
walk.strip(workspace)
job_panel.job_panel(workspace, [stop for stop in ("corpus", "vectors", "import", "alignment", "model")])

recent = walk.recent(workspace)
if recent:
    st.subheader("Made here lately")
    st.dataframe(recent, hide_index=True, width="stretch")
else:
    choose.nothing_yet(
        "This workspace is empty.",
        "1. **Text**: upload some megabytes of your domain, or name a file on this machine.  \n"
        "2. **Word vectors**: trained on it in minutes, on the processor.  \n"
        "3. **Alignment**: see at once what each new word lands next to in the model.  \n"
        "4. **Adapt**: take away a model folder that knows the words.",
        "pages/words/vectors.py", "Start with a text",
    )  # fmt: skip
st.markdown(f":small[:gray[The workspace is the folder `{workspace.root}`. Nothing you put in leaves this machine.]]")
