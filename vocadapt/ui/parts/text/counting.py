"""Block that counts the words of a text for a model: a short text on the page, a longer one by a
job.
"""

from pathlib import Path

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import build_counts_path, load_or_count_words, read_corpus
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.word_counts import STEP, WordCountsStep
from vocadapt.lab.workspace.drafts import WRITE_REMEDY
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.jobs import guards, panel
from vocadapt.ui.state import cache
from vocadapt.ui.state.names import display_model
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import format_forecast

PAGE_SECONDS = 2.0  # a text that takes longer is counted by a job


def offer_counting(workspace: Workspace, corpus: Artifact, model: str) -> None:
    """Offer to count the words of a text for a model, with an estimate of the time.

    model: its folder or hub name. The counts are saved, so the next run of the page has them.
    Raises InputError if they cannot be saved.
    """
    text = read_corpus([corpus.folder])
    shown = plain(display_model(workspace, model))
    with st.container(border=True):
        st.markdown(f"**{plain(corpus.name)} has no word counts for {shown} yet.**")
        # 1. Cases without a button.
        if text.counted_by is not None:
            st.markdown(
                "This text contains only word counts, made for a model that separates words"
                " differently. Choose a model for which it was counted, or import the text itself."
            )
            return
        spec = Spec(WordCountsStep(), {"text": (str(corpus.folder),), "model": (model,)})
        if panel.draw_if_running(workspace, spec):
            return
        # 2. The button, and how long it takes.
        forecast = guards.forecast_job(workspace, spec)
        assert forecast is not None
        is_short = forecast.seconds_without_start_up <= PAGE_SECONDS
        place = "on this page" if is_short else "as a job"
        time = format_forecast(forecast, with_start_up=not is_short)
        st.markdown(f"Counting them {place} takes about **{time}**; the counts are saved.")
        if not st.button("Count words", type="primary", icon=":material/calculate:", key="count"):
            return
        # 3. Count them.
        if not is_short:
            wish = f"{corpus.name}-{Path(model).name}"
            panel.start(workspace, spec, pickers.find_default_name(workspace, STEP.makes, wish))
            return
        splitter = cache.model_of(model).splitter
        with st.spinner("Counting the words …"):
            load_or_count_words(workspace.root, text, splitter)
        if not build_counts_path(workspace.root, text, splitter).is_file():
            raise InputError(f"{workspace.root}: the word counts cannot be saved.", WRITE_REMEDY)
        st.rerun()
