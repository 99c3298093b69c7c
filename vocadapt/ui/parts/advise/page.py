"""The part Advice: recommend whether and how to extend the vocabulary for a text, from word counts
alone.
"""

import streamlit as st

from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.parts.advise import view
from vocadapt.ui.parts.advise.recommendation import draw_verdict_box
from vocadapt.ui.parts.text.counting import offer_counting
from vocadapt.ui.state import count_cache
from vocadapt.ui.state.pages import NextPart


def draw(workspace: Workspace) -> NextPart | None:
    """Draw the verdict on a text and a model, its reasons, and the figures behind it."""
    corpora = workspace.artifacts("corpora")
    if not corpora:
        pickers.draw_empty_state(
            "There is no text in this workspace yet.",
            (
                "Import a text of your domain and choose a model: the advice is based on how the"
                " model tokenizes its words. Nothing is trained."
            ),
            "text",
            "Import a text",
        )
        return None

    # 1. Text, model, and an optional task.
    left, middle, right = st.columns([1, 1, 0.6], gap="large", vertical_alignment="bottom")
    with left:
        corpus = pickers.pick("Text", corpora, "advise_corpus", newest=True)
    with middle:
        model = pickers.pick_model(
            workspace, "advise_model", default=pickers.model_behind(corpus, workspace)
        )
    with right:
        task = view.pick_task(workspace)
    pickers.draw_demo_note(model)
    pickers.warn_if_stale(corpus, workspace)

    # 2. The advice; if the text has no word counts, a button counts its words.
    report = count_cache.advice_of(corpus, model, workspace.root, task)
    if report is None:
        offer_counting(workspace, corpus, model)
        return None

    # 3. The verdict, what to do, and why.
    draw_verdict_box(report)
    vectors = view.draw_action(workspace, corpus, model, report)
    view.draw_reasons(report)

    # 4. The figures behind it.
    view.draw_headline(report)
    counts = count_cache.counts_of(corpus, model, workspace.root)
    view.draw_counts(report, counts.words if counts else None)
    with st.container(key="va_stacked_advise"):
        chart, words = st.columns(2, gap="large")
    with chart:
        view.draw_length_chart(report)
    with words:
        view.draw_split_words(report)
    view.draw_gains(report)
    view.draw_measured_gains()
    if report.recipes and vectors:
        view.draw_recipes(report, vectors)
    view.draw_details(report, corpus, model, task, vectors)
    return choose_next(workspace, report.verdict, vectors)


def choose_next(workspace: Workspace, verdict: str, vectors: Artifact | None) -> NextPart:
    """Return where to continue: fine-tuning if the vocabulary is kept and there is a task; otherwise
    Adapt if there are word vectors, or else word vectors.
    """
    keep = verdict == "keep"
    if keep and workspace.artifacts("tasks"):
        return NextPart("finetune", "Keep the vocabulary: train the model as it is on your task.")
    if vectors is not None:
        why = "Adapt the model with the recommended words."
        if keep:
            why = "See which words would be added if you change the vocabulary anyway."
        return NextPart("adapt", why, {"adapt_model": "advise_model"})
    why = "Train vectors of the words of this text."
    if keep:
        why = "See which words of this text are similar: this needs no new vocabulary."
    carry = {"vectors_corpus": "advise_corpus", "vectors_model": "advise_model"}
    return NextPart("vectors", why, carry)
