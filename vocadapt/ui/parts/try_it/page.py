"""The part Try it: predict typed text with a fine-tuned model, or fill in a masked word with any
model, under each tokenization.
"""

from contextlib import suppress

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.workspace.trials import record_trial
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.parts.try_it import choice, filling, view
from vocadapt.ui.state import cache


def draw(workspace: Workspace) -> None:
    """Draw the picker of a run or model, the text input, and the predictions."""
    pickers.warn_of_unreadable_runs(workspace)
    # 1. The run or model on the right, the text on the left.
    left, right = st.columns([1.7, 1], gap="large")
    with right:
        chosen = choice.choose(workspace)
    if chosen is None:
        pickers.draw_empty_state(
            "There is no model to try yet.",
            "Adapt or fine-tune one, or type the folder of a model under *Another folder*.",
            "adapt",
            "Adapt a model",
        )
        return
    # 2. What the model makes of the text.
    if chosen.model:
        model = cache.model_of(chosen.model)
        with left:
            own = filling.find_examples(workspace, model)
            text, examples = filling.draw_text_input(model, own, lambda: _record_trial(workspace))
        filling.draw_text(model, text, examples)
        filling.draw_details(chosen.model, text)
    else:
        _draw_run(workspace, chosen.run, left)


def _record_trial(workspace: Workspace) -> None:
    """Callback: a sentence was typed. A read-only workspace keeps no record of it."""
    with suppress(InputError):
        record_trial(workspace)


def _draw_run(workspace: Workspace, folder: str, place: st.delta_generator.DeltaGenerator) -> None:
    """Draw the text input of a run in a column, the prediction, that of a file, and the commands."""
    run = cache.run_of(folder)
    with place:
        example = view.choose_example(run, lambda: _record_trial(workspace))
    if example is not None:
        view.draw_prediction(folder, run, example)
    else:
        st.markdown("Type a text above, or click an example.")
    st.divider()
    view.predict_file(folder, run)
    view.draw_details(folder, run, example)
