"""Parts of Text: the form that imports a text."""

import streamlit as st

from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.uploads import is_upload
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.text.corpus import CorpusSettings
from vocadapt.ui.components import intake, pickers
from vocadapt.ui.components.setting_inputs import draw_setting
from vocadapt.ui.jobs import panel


def draw_text_form(workspace: Workspace, model: str) -> None:
    """Draw the form that imports text files as a corpus, with word counts for the model."""
    files = intake.choose_files(workspace, "text", intake.TEXT_TYPES)
    with st.popover("Line filter", icon=":material/filter_alt:"):
        settings = CorpusSettings(
            field=draw_setting(st, CorpusSettings, "field"),
            min_length=draw_setting(st, CorpusSettings, "min_length"),
            sample=draw_setting(st, CorpusSettings, "sample", step=0.05),
            language=draw_setting(st, CorpusSettings, "language"),
        )
    name = pickers.draw_name_input(workspace, "corpora", intake.suggest_name(files), "corpus_name")
    if st.button(
        "Import and count",
        type="primary",
        icon=":material/add:",
        disabled=not files,
        key="take_text",
    ):
        inputs = {"text": tuple(map(str, files)), "model": (model,)}
        step = CorpusStep(copy=all(is_upload(file, workspace) for file in files), corpus=settings)
        panel.start(workspace, Spec("corpus", step, inputs), name, form="text")
