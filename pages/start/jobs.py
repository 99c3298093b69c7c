"""Page Jobs: progress, logs and results of the long steps of a workspace."""

import streamlit as st

from vocadapt.ui.components import glossary
from vocadapt.ui.frame import session
from vocadapt.ui.jobs import step_form, view

workspace = session.workspace()
st.title("Jobs")
st.markdown(
    "Long steps run in the background and continue when you leave the page. Check their"
    " progress, cancel or resume them here."
)
glossary.offer_terms("artifact", "job", "step", "workspace")
view.draw_jobs(workspace)
step_form.draw_more_steps(workspace)
