"""Blocks of the part Text: the form that imports a text, and a bundled text to try."""

from functools import partial

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.demo import NEWS, find_news_text
from vocadapt.lab.inputs.corpora import find_same_text
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.uploads import is_upload
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.text.corpus import CorpusSettings
from vocadapt.ui.components import intake, mistakes
from vocadapt.ui.components.setting_inputs import draw_settings
from vocadapt.ui.jobs import forms, panel
from vocadapt.ui.text.markup import plain


@st.fragment
@mistakes.show_errors()
def draw_text_form(workspace: Workspace, model: str) -> None:
    """Draw the form that imports text files as a corpus, with word counts for the model; a setting
    reruns only this fragment.
    """
    files = intake.choose_files(workspace, "text", intake.TEXT_TYPES)
    same = find_same_text(workspace, files) if files else None
    if same:
        st.markdown(
            f":material/info: This text is in the workspace already, as **{plain(same.name)}**."
        )
    with st.popover("Line filter", icon=":material/filter_alt:"):
        # The maximum length of a line bounds the memory that a text can take.
        options = {"sample": {"step": 0.05}}
        settings = draw_settings(CorpusSettings(), "text", ["max_line_mb"], options)
    spec = None
    if files:
        inputs = {"text": tuple(map(str, files)), "model": (model,)}
        step = CorpusStep(copy=all(is_upload(file, workspace) for file in files), corpus=settings)
        spec = Spec(step, inputs)
    wish = intake.suggest_name(files)
    key = "take_text"
    kind: panel.ButtonKind = "secondary" if same else "primary"
    label = "Import and count"
    start = partial(panel.start, form="text")
    forms.draw_start(workspace, spec, wish, label, key, "corpus_name", kind, start)


def draw_news_offer(workspace: Workspace, model: str) -> None:
    """Offer the bundled news text, if it is installed."""
    try:
        news = find_news_text()
    except InputError:  # gensim's test data are not part of every installation
        return
    with st.container(border=True):
        st.markdown(
            "**No text at hand?** 300 short news stories show every step within seconds. They are"
            " too few for useful word vectors."
        )
        if st.button("Try it on news", icon=":material/bolt:", key="take_news"):
            with mistakes.show_errors():
                inputs = {"text": (str(news),), "model": (model,)}
                spec = Spec(CorpusStep(copy=True), inputs)
                queue.start(workspace, spec, workspace.find_free_name(*NEWS), once=True)
                st.rerun()
