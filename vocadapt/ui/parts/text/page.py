"""The part Text: the size of a text, how a model tokenizes it, and the form that imports one."""

from dataclasses import replace
from itertools import islice

import streamlit as st

from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.text.display import shorten_text
from vocadapt.text.words import WordCounts
from vocadapt.ui.components import mistakes, pickers, word_links
from vocadapt.ui.components.blocks import (
    draw_artifact_details,
    draw_heading,
    draw_metrics,
    draw_note,
)
from vocadapt.ui.jobs import forms
from vocadapt.ui.parts.text import intake_form
from vocadapt.ui.parts.text.counting import offer_counting
from vocadapt.ui.parts.text.needed_size import describe_needed_text
from vocadapt.ui.state import address, cache, count_cache
from vocadapt.ui.state.names import model_behind, shown_model
from vocadapt.ui.state.pages import NextPart
from vocadapt.ui.text import markup
from vocadapt.ui.text.number_formats import count, fraction, percent
from vocadapt.vocabulary.lens import SEVERE

SAMPLE_LINES, MAX_LINE_LENGTH = 3, 240  # lines of a text that are shown, characters of a line
WORD = "text_word"  # query parameter: the word of a link to the lens
HELP = {
    "lines": "Number of lines that were kept: the line filter drops some of the lines read.",
    "words": "Running words, numbers and punctuation marks, as the model separates them.",
    "fertility": "Mean number of wordpieces per running word. 1: every word is one wordpiece.",
    "whole": "Fraction of the running words that are a single wordpiece.",
    "severe": f"Fraction of the running words that are split into {SEVERE} wordpieces or more.",
}


def draw(workspace: Workspace) -> NextPart | None:
    """Draw the selected text and how a model tokenizes it, and the form that imports one."""
    # 1. Without a text: its job while it runs, else the form, and a text to try.
    corpora = workspace.artifacts("corpora")
    if not corpora and pickers.has_living_job():
        return None
    if not corpora:
        st.markdown(
            "**There is no text in this workspace yet.** Import text from your field:"
            f" {describe_needed_text()}, so that new words get useful vectors."
        )
        model = pickers.pick_model(workspace, "text_model")
        intake_form.draw_text_form(workspace, model)
        intake_form.draw_news_offer(workspace, model)
        return None

    # 2. The selected text and model.
    left, right = st.columns(2, gap="large", vertical_alignment="top")
    with left:
        corpus = pickers.pick("Text", corpora, "text_corpus", newest=True)
    with right:
        model = pickers.pick_model(workspace, "text_model", default=model_behind(corpus, workspace))
    pickers.draw_demo_note(model)
    pickers.warn_if_stale(corpus, workspace)
    draw_text(workspace, corpus, model)

    # 3. The form that imports another one.
    st.divider()
    draw_heading("Import another text")
    intake_form.draw_text_form(workspace, model)
    return None


def draw_text(workspace: Workspace, corpus: Artifact, model: str) -> None:
    """Draw the size of a text and its tokenization by a model; without word counts, offer to
    count.
    """
    _follow_word_link()
    with mistakes.show_errors():
        counted = _draw_size(workspace, corpus, model)
        _draw_sample(corpus)
        if not counted:
            offer_counting(workspace, corpus, model)
            return
        _draw_headline(workspace, corpus, model)
        _draw_worst_words(workspace, corpus, model)
    draw_artifact_details(corpus)


def _draw_size(workspace: Workspace, corpus: Artifact, model: str) -> bool:
    """Draw the numbers of files, lines and words; return whether the words were counted for this
    model.
    """
    numbers = corpus.manifest.numbers
    counts = count_cache.counts_of(corpus, model, workspace.root)
    lines = words = distinct = "–"
    kept = None
    if counts is not None:
        lines = count(counts.lines)
        words = count(counts.words)
        distinct = count(counts.distinct)
        kept = f"of {count(counts.lines_read or counts.lines)} read"
    draw_metrics(
        ("Files", count(numbers["files"]) if "files" in numbers else "–"),
        ("Lines", lines, kept, HELP["lines"]),
        ("Words", words, None, HELP["words"]),
        ("Distinct words", distinct),
    )
    if counts is not None and counts.identical.copies:
        _draw_copies(workspace, corpus, model, counts)
    return counts is not None or bool(count_cache.figures_of(corpus, model, "", workspace.root))


def _draw_copies(workspace: Workspace, corpus: Artifact, model: str, counts: WordCounts) -> None:
    """Draw how many lines are copies, the most frequent line, and the button that imports the text
    without them.
    """
    found = counts.identical
    text = read_corpus([corpus.folder])
    about = "" if found.compared == 1 else "About "
    words = (
        f"{about}**{count(found.copies)} of {count(counts.lines)} lines are copies of earlier"
        f" lines** ({percent(found.copies / counts.lines)}); their words are counted each time."
    )
    if most := found.most_frequent:  # None: the counts come without the line
        line = markup.plain(markup.escape_invisible(most.text))
        words += f" The most frequent one occurs {count(most.count)} times: :small[{line}]"
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(words, width="stretch")
        if text.counted_by is not None:  # word counts only: there is nothing to import
            return
        settings = replace(text.settings, drop_copies=True)
        step = CorpusStep(copy=bool(corpus.manifest.settings.get("copy")), corpus=settings)
        spec = Spec(step, {"text": tuple(map(str, text.files)), "model": (model,)})
        wish = f"{corpus.name}-distinct"
        label = "Import without copies"
        forms.draw_start(workspace, spec, wish, label, "drop_copies", kind="secondary")


def _draw_sample(corpus: Artifact) -> None:
    """Draw the first lines of a text, or that it holds word counts only."""
    text = read_corpus([corpus.folder])
    if text.counted_by is not None:
        draw_note("Word counts only: this text has no sentences.")
        return
    lines = [line for line in islice(text, SAMPLE_LINES) if line.strip()]
    with st.container(border=True, gap="xsmall"):
        draw_note(f"The first {count(len(lines))} lines")
        for line in lines:
            st.text(markup.escape_invisible(shorten_text(line, MAX_LINE_LENGTH)))


def _draw_headline(workspace: Workspace, corpus: Artifact, model: str) -> None:
    """Draw how a model tokenizes a text: wordpieces per word, whole words, severely split words."""
    figures = count_cache.figures_of(corpus, model, shown_model(model), workspace.root)
    if figures is None:
        return
    draw_heading("How the model reads it")
    draw_metrics(
        ("Wordpieces per word", fraction(figures.fertility, 2), None, HELP["fertility"]),
        ("Whole words", percent(figures.one_piece), None, HELP["whole"]),
        (f"Split into {SEVERE} or more", percent(figures.share_from(SEVERE)), None, HELP["severe"]),
    )


def _draw_worst_words(workspace: Workspace, corpus: Artifact, model: str) -> None:
    """Draw the table of the words that a model splits worst, each a link to the lens."""
    found = count_cache.worst_split_of(corpus, model, workspace.root)
    if not found:
        st.markdown("The model splits no word of this text.")
        return
    draw_heading("Most heavily split words")
    draw_note(
        f"The first {count(len(found))} split words: those of {SEVERE} or more wordpieces first,"
        " the most frequent at the top. Click a word to see it in the lens."
    )
    # A callback only notes the word: the page cannot be changed before it runs again.
    word_links.listen(WORD, lambda word: st.session_state.update({WORD: word}))
    vocabulary = cache.model_of(model).vocabulary
    rows = []
    for split in found:
        chips = markup.build_word_chips(split.pieces, vocabulary.mark_of)
        rows.append(markup.WordRow(split.word, (count(split.count),), chips))
    columns = ("word", "occurrences", "wordpieces")
    markup.draw_word_table(columns, rows, word_links.build_links(WORD))


def _follow_word_link() -> None:
    """Open the lens with the word that was clicked, or that is in the address."""
    word = st.session_state.pop(WORD, "") or st.query_params.get(WORD, "")
    if word:
        st.query_params.pop(WORD, None)
        address.go_to("lens", lens_text=word)
