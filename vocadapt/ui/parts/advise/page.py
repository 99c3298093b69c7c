"""The part Advice: recommend whether and how to extend the vocabulary for a text, from word counts
alone.
"""

from pathlib import Path

import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.jobs import queue
from vocadapt.lab.reports import advice as lab
from vocadapt.lab.reports.recommendation import find_vectors_of_text, recommend_recipe
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.presets import PRESETS
from vocadapt.report.csv_files import write_csv
from vocadapt.text.words import describe_held_out
from vocadapt.ui.components import intake, mistakes, pickers
from vocadapt.ui.components.blocks import (
    draw_command,
    draw_downloads,
    draw_figure,
    draw_heading,
    draw_link,
    draw_metrics,
    draw_note,
    open_details,
)
from vocadapt.ui.components.tables import draw_report
from vocadapt.ui.jobs import forms, guards
from vocadapt.ui.parts.advise.recommendation import describe_words, draw_verdict_box
from vocadapt.ui.parts.text.counting import offer_counting
from vocadapt.ui.parts.vectors import page as vectors_view
from vocadapt.ui.state import address, cache, count_cache
from vocadapt.ui.state.names import model_behind
from vocadapt.ui.state.pages import NextPart
from vocadapt.ui.text import markup
from vocadapt.ui.text.number_formats import (
    chance,
    count,
    count_noun,
    duration,
    fraction,
    group_digits,
    megabytes,
    percent,
)
from vocadapt.vocabulary.advice.advice import RECOMMENDED
from vocadapt.vocabulary.advice.measured_gains import MEASURED_TABLE
from vocadapt.vocabulary.advice.measured_gains import SOURCE as MEASURED_SOURCE
from vocadapt.vocabulary.growth.word_tokenizations import FEW_OCCURRENCES, TokenizationStatistics

TASK_TYPES = ("tsv", "txt", "conll", "iob", "gz")


def draw(workspace: Workspace) -> NextPart | None:
    """Draw the verdict on a text and a model, its reasons, and the figures behind it."""
    corpora = workspace.artifacts("corpora")
    if not corpora:
        pickers.draw_empty_state(
            "There is no text in this workspace yet.",
            "Import a text of your domain and choose a model: the advice is based on how the model"
            " tokenizes its words. Nothing is trained.",
            "text",
        )
        return None

    # 1. Text, model, and an optional task.
    left, middle, right = st.columns([1, 1, 0.6], gap="large", vertical_alignment="bottom")
    with left:
        corpus = pickers.pick("Text", corpora, "advise_corpus", newest=True)
    with middle:
        usual = model_behind(corpus, workspace)
        model = pickers.pick_model(workspace, "advise_model", default=usual)
    with right:
        task = pick_task(workspace)
    pickers.draw_demo_note(model)
    pickers.warn_if_stale(corpus, workspace)

    # 2. The advice; if the text has no word counts, a button counts its words.
    report = count_cache.advice_of(corpus, model, workspace.root, task)
    if report is None:
        offer_counting(workspace, corpus, model)
        return None
    # 3. The verdict, what to do, and why.
    draw_verdict_box(report)
    vectors = draw_action(workspace, corpus, model, report)
    draw_reasons(report)

    # 4. The figures behind it.
    draw_figures(report)
    if report.recipes and vectors:
        draw_recipes(report, vectors)
    draw_details(report, corpus, model, task, vectors)
    return choose_next(workspace, report.verdict, vectors)


def draw_figures(report: lab.AdviceReport) -> None:
    """Draw the figures behind the advice: sizes, wordpieces per word, and the gains of added words."""
    draw_headline(report)
    draw_note(
        f"Counts: {count(report.corpus.words)} running words contain a letter;"
        f" {count(report.expected.words)}, with numbers and punctuation marks, occur at least"
        f" {report.min_count} times and get a vector. Chance is 5 in"
        f" {count(report.expected.candidates)} wordpieces."
    )
    with st.container(key="va_stacked_advise"):
        chart, words = st.columns(2, gap="large")
    with chart:
        draw_length_chart(report)
    with words:
        table = report.build_split_words_table()
        draw_heading(table.title)
        draw_report(table, "split", height=330)
    table = report.build_gains_table()
    draw_heading(table.title)
    draw_report(table, "gains")
    draw_heading(MEASURED_TABLE.title)
    st.markdown(MEASURED_SOURCE)
    draw_report(MEASURED_TABLE, "measured_gains")


def choose_next(workspace: Workspace, verdict: str, vectors: Artifact | None) -> NextPart:
    """Return where to continue: fine-tuning if the vocabulary is kept and there is a task;
    otherwise Adapt if there are word vectors, or else word vectors.
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


def pick_task(workspace: Workspace) -> Path | None:
    """Show the picker of a task file, by upload or by path; return the file."""
    with st.popover(
        "Task file",
        icon=":material/label:",
        help="Optional: also reports how the entity words are tokenized.",
    ):
        st.markdown(
            ":small[A word, a tab and a tag (O, B, I, or with a type) on each line; a blank line"
            " between sentences.]"
        )
        files = intake.choose_files(workspace, "task", TASK_TYPES, several=False)
        if files and st.button("Remove", key="no_task"):
            # Clear both inputs: without its path, the upload would be selected again.
            for key in ("task_files", "task_path"):
                st.session_state.pop(key, None)
            st.rerun()
    return files[0] if files else None


def draw_action(
    workspace: Workspace, corpus: Artifact, model: str, report: lab.AdviceReport
) -> Artifact | None:
    """Draw what is recommended and the button that leads to it: to Adapt if there are word vectors
    of this text, otherwise one that trains them; return the vectors.

    An InputError, such as one about damaged word vectors, is a note in its place: the figures of
    the advice do not depend on it.
    """
    vectors = None
    try:
        vectors = find_vectors_of_text(workspace, corpus, cache.model_of(model))
        _draw_recommendation(workspace, corpus, model, report, vectors)
    except InputError as error:
        reason = markup.plain(mistakes.format_in_one_line(error))
        draw_note(f"The next step cannot be offered. {reason}")
    return vectors


def _draw_recommendation(
    workspace: Workspace,
    corpus: Artifact,
    model: str,
    report: lab.AdviceReport,
    vectors: Artifact | None,
) -> None:
    # 1. What is recommended, and what is certain of it.
    recipe = recommend_recipe(report)
    suggested = report.recommended
    if recipe is None or suggested is None:
        st.markdown("No word of this text can be added to this model.")
        return
    lead, label = "Recommended: add", "Adapt"
    if report.verdict == "keep":
        lead, label = "If you add words anyway:", "Adapt anyway"
    gain = markup.format_sentence(suggested.about)
    words = describe_words(recipe.vocabulary)
    if vectors is not None:
        plan = count_cache.plan_of(recipe, model, vectors, None, None, workspace.root)
        if len(plan.added) < suggested.max_added:
            words += f"; the word vectors contain **{count(len(plan.added))}** of them"
    with st.container(border=True):
        st.markdown(f"{lead} {words}. :small[:gray[{gain}]]")
        # 2. The way there.
        if vectors is None:
            _offer_training(workspace, corpus, model)
            return
        inputs = {"model": (model,), "vectors": (str(vectors.folder),)}
        forecast = guards.forecast_job(workspace, Spec(AdaptStep(recipe), inputs))
        certain = report.gain(suggested.min_count)
        label = f"{label}: {percent(certain.saved)} fewer tokens"
        if certain.bytes is not None:
            label += f", {megabytes(certain.bytes)} more"
        if forecast is not None:
            label += f", about {duration(forecast.seconds)}"
        if st.button(label, type="primary", icon=":material/library_add:", key="advise_adapt"):
            address.go_to("adapt", adapt_preset=RECOMMENDED, adapt_vectors=vectors.name)


def _offer_training(workspace: Workspace, corpus: Artifact, model: str) -> None:
    """Draw the button that trains word vectors of a text as a job, with its cost."""
    if queue.list_promised_names(workspace, "vectors"):
        st.markdown("Word vectors are being trained. This page continues when they are done.")
        return
    if read_corpus([corpus.folder]).counted_by is not None:
        st.markdown(
            "The embeddings of new words are made from word vectors. This text holds word counts"
            " only, so none can be trained on it: import vectors with the same name as the text."
        )
        draw_link("vectors", "Import word vectors")
        return
    st.markdown(
        "The embeddings of new words are made from word vectors, and there are none of this text"
        " yet."
    )
    step = VectorsStep()
    draw_note(vectors_view.describe_training(workspace, model, corpus, step.word2vec))
    with st.container(horizontal=True, vertical_alignment="center"):
        spec = Spec(step, {"text": (str(corpus.folder),), "model": (model,)})
        label, start = "Train word vectors", vectors_view.start_training
        forms.draw_start(workspace, spec, corpus.name, label, "advise_train", start=start)
        draw_link("vectors", "Train with other settings", vectors_corpus=corpus.name)


def draw_reasons(report: lab.AdviceReport) -> None:
    """Draw the reasons for the verdict."""
    for reason in report.reasons:
        mark = ":orange[:material/block:]" if reason.stops else ":gray[:material/info:]"
        finding = markup.format_sentence(reason.sentence)
        why = markup.format_sentence(reason.why)
        st.markdown(f"{mark} {finding} :small[:gray[{why}]]")


def draw_headline(report: lab.AdviceReport) -> None:
    """Draw the main figures: split words, split entity words, new words, expected P@5, tokens
    saved.
    """
    expected = report.expected
    gain = report.gain(FEW_OCCURRENCES)
    forecast, interval = "–", "no word can be added"
    if report.gain(0).words:
        forecast = fraction(expected.value)
        interval = (
            f"{fraction(expected.low)}–{fraction(expected.high)}, chance {chance(expected.chance)}"
        )
    metrics: list[tuple[str | None, ...]] = [
        _describe_split(
            "Split words",
            report.corpus,
            "Fraction of running words with a letter that the model splits into several tokens.",
        ),
        (
            "New words",
            count(gain.words),
            f"occur {gain.min_count} times or more",
            "Words of the text that the model splits into several tokens, and that could be added.",
        ),
        (
            "Expected P@5",
            forecast,
            interval,
            "How precisely the embeddings of new words can be placed: the fraction of words like"
            " them whose own wordpiece would be among the five nearest. A forecast from"
            f" {count(expected.words)} running words; range: 95 % interval on a text that it was"
            " not fitted on.",
        ),
        (
            "Tokens saved",
            percent(gain.saved),
            f"{count_noun(gain.words, 'word')}; {percent(gain.saved_in_sample)} in sample",
            f"By {count(gain.words)} words that occur {gain.min_count} times or more."
            f" {group_digits(describe_held_out(report.held_out_lines, report.lines))}"
            f" Wordpieces per word: {fraction(report.corpus.fertility, 2)} before,"
            f" {fraction(gain.fertility, 2)} after.",
        ),
    ]
    if report.task:
        about = "Fraction of the words inside entities of the task file that the model splits."
        metrics.insert(1, _describe_split("Split entity words", report.task, about))
    draw_metrics(*metrics)


def _describe_split(
    label: str, statistics: TokenizationStatistics, about: str
) -> tuple[str | None, ...]:
    """Describe the fraction of split words as a metric: label, value, note and help."""
    note = f"n = {count(statistics.words)}, distinct {percent(statistics.split_distinct)}"
    return label, percent(statistics.split), note, about


def draw_recipes(report: lab.AdviceReport, vectors: Artifact) -> None:
    """Draw one card per recipe that is worth a comparison, with a link to the part Model."""
    with st.expander("Recipes to compare", icon=":material/compare_arrows:"):
        columns = st.columns(len(report.recipes))
        for column, recipe in zip(columns, report.recipes, strict=True):
            with column, st.container(border=True, height="stretch"):
                st.markdown(
                    f"**{recipe.name.capitalize()}** · {PRESETS[recipe.preset].title} ·"
                    f" :green[**{count(recipe.max_added)} words**]"
                )
                st.markdown(f":small[{markup.format_sentence(recipe.about)}]")
                draw_link(
                    "adapt",
                    "Set up in Adapt",
                    adapt_vectors=vectors.name,
                    adapt_preset=recipe.preset,
                    adapt_cap=str(recipe.max_added),
                    adapt_occurrences=str(recipe.min_count),
                )


def draw_length_chart(report: lab.AdviceReport) -> None:
    """Draw the distribution of wordpieces per word for the text and the entities of the task."""
    draw_heading("Wordpieces per word")
    shares = report.corpus.shares()
    fractions = {"words of the text": shares}
    sizes = f"{count(report.corpus.words)} of the text"
    if report.task:
        fractions["words in the task's entities"] = report.task.shares()
        sizes += f", {count(report.task.words)} entity words"
    alt = "; ".join(f"{size} tokens: {percent(share)}" for size, share in shares.items())
    draw_figure(figures.plot_wordpieces_per_word(fractions), "pieces", f"Words of the text: {alt}.")
    draw_note(f"Running words with a letter: {sizes}.")


def draw_details(
    report: lab.AdviceReport,
    corpus: Artifact,
    model: str,
    task: Path | None,
    vectors: Artifact | None,
) -> None:
    """Draw Details & export of the advice."""
    with open_details():
        draw_command(
            lab.build_advise_command([corpus.folder], model, task),
            "The same advice in a terminal; it also writes the recommended recipe",
        )
        source = lab.VECTORS
        if vectors is None:
            draw_command(lab.build_training_command([corpus.folder], model), "Train word vectors")
        else:
            source = str(vectors.folder)
        draw_command(lab.build_recommended_command(model, source), "Adapt as recommended")
        for recipe in report.recipes:
            draw_command(lab.build_adapt_command(recipe, model), recipe.name.capitalize())
        origin = "counts from the workspace" if report.counts == "kept" else "counted now"
        st.markdown(
            f"{count(report.lines)} of {count(report.lines_read)} lines, {origin};"
            f" {duration(report.seconds)}."
        )
        answer = lab.add_commands(report, [corpus.folder], model)
        draw_downloads(
            {
                "advice.json": strict_json.dumps(answer, indent=1),
                "split-words.csv": write_csv([report.build_split_words_table()]),
            }
        )
