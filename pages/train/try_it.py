"""Try it: a sentence, or a question on a text, under each cut of a fine-tuned model, and what both
together say.
"""

import streamlit as st

from vocadapt.ui.components import pickers
from vocadapt.ui.frame import frame, mistakes
from vocadapt.ui.try_it import file, view

workspace = frame.workspace()
st.title("Try it")
st.markdown(
    "Type a text and see what a fine-tuned model makes of it: cut into its old"
    " :blue[**wordpieces**], with the :green[**added words**], and with both votes pooled."
)
pickers.passed_over(workspace)
left, right = st.columns([1.7, 1], gap="large")
with right:
    folder = view.choose_run(workspace)
if not folder:
    pickers.nothing_yet(
        "There is no fine-tuned model to try yet.",
        "Fine-tune one, or type the folder of a model with a task's head under *Another folder*.",
        "pages/train/finetune.py",
        "Fine-tune",
    )
    st.stop()

with mistakes.shown():
    run = view.opened(folder)
    with left:
        example = view.ask(run)
    if example is not None:
        view.answer_to(folder, run, example)
    else:
        st.markdown("Type something above, or click an example.")
    st.divider()
    file.on_a_file(folder, run)
    file.details(folder, run, example)
