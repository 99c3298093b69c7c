"""Forms of the page Word vectors: import a text, train vectors on it, import existing vectors."""

import os
from dataclasses import replace

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.files import expand_path
from vocadapt.lab.jobs.estimates import estimate_job_seconds
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.import_vectors import ImportStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.uploads import is_upload
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, estimate_word2vec_seconds
from vocadapt.text.corpus import CorpusSettings
from vocadapt.text.words import WordCounts
from vocadapt.ui.components import intake, pickers
from vocadapt.ui.components.number_formats import count, format_estimate_bold, megabytes
from vocadapt.ui.components.setting_inputs import draw_setting
from vocadapt.ui.frame import cache, count_cache
from vocadapt.ui.jobs import panel

PAPER = Word2VecSettings()


def import_text_form(workspace: Workspace, model: str) -> None:
    """Draw the form that imports text files as a corpus, with word counts for the model."""
    files = intake.choose_files(workspace, "text", intake.TEXT_TYPES)
    with st.popover("Line filter", icon=":material/filter_alt:"):
        settings = CorpusSettings(
            field=draw_setting(st, CorpusSettings, "field"),
            min_length=draw_setting(st, CorpusSettings, "min_length"),
            sample=draw_setting(st, CorpusSettings, "sample", step=0.05),
            language=draw_setting(st, CorpusSettings, "language"),
        )
    name = pickers.name_for(workspace, "corpora", intake.stem(files), "corpus_name")
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


def draw_training_form(workspace: Workspace, model: str, corpora: list[Artifact]) -> None:
    """Draw the form that trains word vectors on a corpus, with the estimated size and duration."""
    form, plan = st.columns([1.4, 1], gap="large")
    with form:
        corpus = pickers.pick("Text", corpora, "vectors_corpus", newest=True)
        settings = choose_settings()
    with plan:
        st.markdown(preview(workspace, model, corpus, settings))
        name = pickers.name_for(workspace, "vectors", corpus.name, "vectors_name")
        if st.button(
            "Train word vectors", type="primary", icon=":material/play_arrow:", key="train"
        ):
            inputs = {"text": (str(corpus.folder),), "model": (model,)}
            panel.start(workspace, Spec("vectors", VectorsStep(word2vec=settings), inputs), name)


def preview(workspace: Workspace, model: str, corpus: Artifact, settings: Word2VecSettings) -> str:
    """Describe the vocabulary and duration of a training, if the words of the text are counted."""
    try:
        if os.path.isfile(expand_path(model)) and not settings.dim:
            return (
                "A bare vocabulary has no embedding dimension: set *Dimension* under *All"
                " settings*."
            )
        width = settings.dim or cache.model_of(model).dim
    except InputError:
        return "This model is not on this machine yet: the job downloads it first."
    counts = count_cache.counts_of(corpus, model, workspace.root)
    if not counts:
        return "This text has no word counts for this model yet."
    return cost(workspace, counts, replace(settings, dim=width))


def choose_settings() -> Word2VecSettings:
    """Draw the settings of Word2Vec, filled with the published values; return them."""
    left, right = st.columns(2)
    epochs = draw_setting(left, PAPER, "epochs")
    min_count = draw_setting(right, PAPER, "min_count")
    with st.popover("All settings", icon=":material/tune:"):
        return Word2VecSettings(
            dim=draw_setting(st, PAPER, "dim"),
            window=draw_setting(st, PAPER, "window"),
            min_count=min_count,
            negative=draw_setting(st, PAPER, "negative"),
            skip_gram=draw_setting(st, PAPER, "skip_gram"),
            alpha=draw_setting(st, PAPER, "alpha", step=0.001, format="%.3f"),
            epochs=epochs,
            seed=draw_setting(st, PAPER, "seed"),
            workers=int(
                st.checkbox(
                    "Single thread",
                    help="Makes training bit-reproducible, but slower.",
                )
            ),
        )


def cost(workspace: Workspace, counts: WordCounts, settings: Word2VecSettings) -> str:
    """Describe the vocabulary, duration and size of a training in a sentence."""
    seconds = estimate_job_seconds(
        workspace, "vectors", estimate_word2vec_seconds(counts, settings)
    )
    learned = sum(times >= settings.min_count for times in counts.counts.values())
    size = 4 * learned * settings.dim
    return (
        f"**{count(learned)}** of {count(counts.distinct)} distinct words occur at least"
        f" {settings.min_count} times · {count(counts.words)} running words · dimension"
        f" {settings.dim} · about {format_estimate_bold(seconds)} · {megabytes(size)}"
    )


def import_vectors_form(workspace: Workspace, model: str, corpora: list[Artifact]) -> None:
    """Draw the form that imports vectors of another program."""
    files = intake.choose_files(workspace, "vectors_file", intake.VECTOR_TYPES, several=False)
    left, right = st.columns(2)
    limit = draw_setting(left, ImportStep, "limit", step=10_000)
    words = right.text_input(
        "Words file",
        help="File with one word per line; required for .npy and .safetensors.",
        key="words_file",
    ).strip()
    fold = draw_setting(st, ImportStep, "fold")
    only = st.selectbox("Limit to text", ["all words", *(corpus.name for corpus in corpora)])
    text = {corpus.name: str(corpus.folder) for corpus in corpora}.get(str(only))
    name = pickers.name_for(workspace, "vectors", intake.stem(files), "import_name")
    if st.button(
        "Import vectors",
        type="primary",
        icon=":material/download:",
        disabled=not files,
        key="import",
    ):
        needed = model if fold or text else None  # otherwise no model is read
        given = {"file": str(files[0]), "model": needed, "words": words, "text": text}
        inputs = {role: (path,) for role, path in given.items() if path}
        panel.start(
            workspace,
            Spec("import", ImportStep(limit=limit, fold=fold), inputs),
            name,
            form="vectors_file",
        )
