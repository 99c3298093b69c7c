"""Keyword in context: the lines of a text that contain a word, aligned on the word."""

from dataclasses import asdict, replace
from functools import partial

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.steps.command_lines import build_context_command
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.system.forecasts import forecast_at_default_rate
from vocadapt.text.corpus import Corpus
from vocadapt.text.keyword_in_context import ContextSettings, KeywordContext, measure_search
from vocadapt.ui.components import mistakes
from vocadapt.ui.components.blocks import draw_command, draw_downloads, draw_note, tsv
from vocadapt.ui.state import cache
from vocadapt.ui.text.markup import draw_concordance, format_sentence, plain
from vocadapt.ui.text.number_formats import format_forecast

SETTINGS = ContextSettings(limit=12)
MAX_SAVED_LINES, SAVED_WIDTH = 10_000, 200  # of the download
MAX_SHOWN_LENGTH = 60  # characters of the word
MAX_INSTANT_SECONDS = 1.5  # of a search that starts without a click
MAX_PAGE_SECONDS = 120.0  # of a search that a page offers
COLUMNS = ("file", "line", "left", "match", "right")


def draw_lines_of_vectors(
    word: str, vectors: Artifact, workspace: Workspace, model: str | None
) -> None:
    """Draw the lines that contain a word in the training text of word vectors, if the text is
    available and unchanged.
    """
    text = cache.training_text_of(vectors) if model else None
    if text is None or model is None:
        draw_note("No lines to show: the training text of these vectors is unknown or has changed.")
        return
    draw_lines(word, text, model, workspace)


def draw_lines(
    word: str, text: Corpus, model: str, workspace: Workspace, key: str = "context"
) -> None:
    """Draw the lines that contain a word or wordpiece, such as ##chy, with their number and a
    download.

    A search of more than MAX_INSTANT_SECONDS starts on a click. If it would take more than
    MAX_PAGE_SECONDS, a command line is shown instead.
    """
    forecast = forecast_at_default_rate(measure_search(text))
    if forecast.seconds > MAX_PAGE_SECONDS:
        st.markdown(
            f"Searching this text takes about {format_forecast(forecast)}: too long for a page. In"
            " a terminal:"
        )
        draw_command(build_context_command(word, text.files, asdict(text.settings), model))
        return
    # A slow search waits for a click, once per word and text.
    requested = (word, model, text)
    is_slow = forecast.seconds > MAX_INSTANT_SECONDS
    if is_slow and st.session_state.get(f"{key}_requested") != requested:
        label = f"Show lines: about {format_forecast(forecast)}"
        if not st.button(label, key=f"{key}_show", icon=":material/manage_search:"):
            return
        st.session_state[f"{key}_requested"] = requested
    search = partial(cache.context_of, text, word, cache.model_of(model), root=workspace.root)
    try:
        found = search(SETTINGS)
    except InputError as error:
        st.text(f"In the text: {mistakes.format_in_one_line(error)}")
        return
    if not found.total:
        st.markdown(f"**{plain(found.word[:MAX_SHOWN_LENGTH])}** does not occur in the text.")
        return
    draw_occurrences(found, SETTINGS, "the text")
    most = replace(SETTINGS, limit=MAX_SAVED_LINES, width=SAVED_WIDTH)
    table = {"in-context.tsv": lambda: format_table(search(most), most)}
    draw_downloads(table, suffix=f"_{key}")


def draw_occurrences(
    found: KeywordContext, settings: ContextSettings, where: str, unit: str = "line"
) -> None:
    """Draw lines that contain a word, and how many of its occurrences they show.

    where: what was searched. unit: what the numbers of the places count, "line" or "example".
    """
    about = format_sentence(found.describe(settings))
    st.markdown(f"**{plain(found.word[:MAX_SHOWN_LENGTH])}** in {where} :small[:gray[{about}]]")
    if found.hits:
        draw_concordance(found.hits, unit)


def format_table(found: KeywordContext, settings: ContextSettings) -> str:
    """Format the lines as TSV; the first line states how many of the matching lines follow."""
    rows: list[tuple[object, ...]] = [
        (hit.file, hit.line, hit.left, hit.match, hit.right) for hit in found.hits
    ]
    return tsv((f"# {found.word}: {found.describe(settings)}",), []) + tsv(COLUMNS, rows)
