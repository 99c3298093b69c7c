"""Fine-tune: models × a task × seeds, as jobs in a queue, watched while they run; the last result
at once.
"""

import streamlit as st

from vocadapt.ui.components import pickers
from vocadapt.ui.finetune import live, result, task_intake, view
from vocadapt.ui.frame import frame, mistakes, run_cache

workspace = frame.workspace()
st.title("Fine-tune")
st.markdown(
    "Train models on a task, under :blue[**the base cut**], :green[**the adapted cut**] or both,"
    " with as many seeds as you like: each run is scored under every cut, and pooled."
)
with st.container():
    live.running(workspace)
runs = run_cache.runs_in(workspace)
if runs:
    result.last(workspace, runs)

st.subheader("Which models, on what" if not runs else "Fine-tune others")
if not workspace.artifacts("tasks"):
    pickers.nothing_yet(
        "There is no task in this workspace yet.",
        "Fine-tuning needs labeled examples: download a benchmark or bring files of your own,"
        " below; or type the path of a task's .toml. Then choose models and press Start: nothing"
        " starts before.",
    )
wanted = None
with mistakes.shown():
    wanted = view.form(workspace)
    if wanted:
        view.about_task(wanted)
        view.cost(workspace, wanted, runs)
        view.start(workspace, wanted)
with st.expander("Get a task", icon=":material/add:", expanded=not workspace.artifacts("tasks")):
    task_intake.bring(workspace)
if wanted:
    result.command(workspace, wanted)
