"""The part Try it: predict typed text with a fine-tuned model, under each tokenization and pooled."""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.frame import cache
from vocadapt.ui.try_it import view


def draw(workspace: Workspace) -> None:
    """Draw the part."""
    pickers.warn_of_unreadable_runs(workspace)
    # 1. The run on the right, the text to predict on the left.
    left, right = st.columns([1.7, 1], gap="large")
    with right:
        folder = view.choose_run(workspace)
    if not folder:
        pickers.draw_empty_state(
            "There is no fine-tuned model to try yet.",
            (
                "Fine-tune one, or type the folder of a model with a task head under *Another folder*."
            ),
            "finetune",
            "Fine-tune",
        )
        return

    run = cache.run_of(folder)
    with left:
        example = view.choose_example(run)
    # 2. The prediction, then the prediction of a file, and the commands for both.
    if example is not None:
        view.draw_prediction(folder, run, example)
    else:
        st.markdown("Type a text above, or click an example.")
    st.divider()
    view.predict_file(folder, run)
    view.draw_details(folder, run, example)
