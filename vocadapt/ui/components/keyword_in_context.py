"""Keyword in context: the lines of a text that contain a word, aligned on the word."""

from dataclasses import asdict, replace

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.steps.command_lines import build_context_command
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.text.corpus import Corpus
from vocadapt.text.keyword_in_context import ContextSettings, KeywordContext
from vocadapt.ui.components import markup
from vocadapt.ui.components.blocks import draw_command, draw_note, tsv
from vocadapt.ui.components.number_formats import count, format_estimate
from vocadapt.ui.frame import cache, mistakes

SETTINGS = ContextSettings(limit=12)
MAX_SAVED, WIDEST = 10_000, 200
MAX_SHOWN_LENGTH = 60
SPEED = 25e6  # bytes of text per second (two cores, 2.5 GHz)
PACKED, UNPACKED = (".gz", ".parquet"), 3  # compressed files: times the size on disk
AT_ONCE, IN_THE_PAGE = 1.5, 120.0  # seconds of a search: without a click, at most
COLUMNS = ("file", "line", "left", "match", "right")


def draw_lines_of_vectors(
    word: str, vectors: Artifact, workspace: Workspace, model: str | None
) -> None:
    """Draw the lines of a word in the training text of word vectors, if it is available and
    unchanged.
    """
    text = None
    if model:
        text = cache.text_of(vectors, workspace)
    if text is None or model is None:
        draw_note("No lines to show: the training text of these vectors is unknown or has changed.")
        return
    manifest = vectors.manifest
    paths = [workspace.root / path for path in manifest.inputs["text"].paths]
    command = build_context_command(word, paths, manifest.settings["corpus"], model)
    draw_lines(word, text, model, workspace, command)


def draw_lines(
    word: str,
    text: Corpus,
    model: str,
    workspace: Workspace,
    command: str = "",
    key: str = "context",
) -> None:
    """Draw the lines of a word or wordpiece, such as ##chy, with their number and a download.

    A search of more than AT_ONCE seconds starts on a click; for one of more than IN_THE_PAGE seconds
    a command line is shown instead (command: if the files of the text are not enough for it).
    """
    seconds, requested = estimate_seconds(text), (word, model, text)
    # 1. A long search: show its command.
    if seconds > IN_THE_PAGE:
        st.markdown(
            f"Searching this text takes about {format_estimate(seconds)}: too long for a page. In a"
            " terminal:"
        )
        draw_command(
            command or build_context_command(word, text.files, asdict(text.settings), model)
        )
        return
    # 2. A search of some seconds: wait for a click, once for each word and text.
    if seconds > AT_ONCE and st.session_state.get(f"{key}_requested") != requested:
        if not st.button(
            f"Show lines: about {format_estimate(seconds)}",
            key=f"{key}_show",
            icon=":material/manage_search:",
        ):
            return
        st.session_state[f"{key}_requested"] = requested
    # 3. Search, and draw the lines with their download.
    try:
        found = cache.context_of(text, word, cache.model_of(model), SETTINGS, workspace.root)
    except InputError as error:
        st.text(f"In the text: {mistakes.format_in_one_line(error)}")
        return
    _draw(found)
    if found.hits:
        most = replace(SETTINGS, limit=MAX_SAVED, width=WIDEST)
        st.download_button(
            f"Up to {count(MAX_SAVED)} lines",
            lambda: format_table(
                cache.context_of(text, word, cache.model_of(model), most, workspace.root), most
            ),
            "in-context.tsv",
            on_click="ignore",
            icon=":material/download:",
            key=f"{key}_get",
        )


def estimate_seconds(text: Corpus) -> float:
    """Estimate the seconds of one search through a text from its size on disk."""
    size = 0
    for path in text.files:
        factor = UNPACKED if path.suffix in PACKED else 1
        size += factor * path.stat().st_size
    return size / SPEED


def format_table(found: KeywordContext, settings: ContextSettings) -> str:
    """Format the lines as TSV; the first line states how many of how many they are."""
    rows: list[tuple[object, ...]] = [
        (hit.file, hit.line, hit.left, hit.match, hit.right) for hit in found.hits
    ]
    return f"# {found.word}: {found.describe(settings)}\n" + tsv(COLUMNS, rows)


def _draw(found: KeywordContext) -> None:
    """Draw the number of lines and the lines."""
    word = markup.plain(found.word[:MAX_SHOWN_LENGTH])
    if not found.of:
        st.markdown(f"**{word}** does not occur in the text.")
        return
    st.markdown(f"**{word}** in the text :small[:gray[{found.describe(SETTINGS)}]]")
    lines = []
    for hit in found.hits:
        place = f"{hit.file.name}, line {hit.line:,}"
        lines.append(markup.Line(hit.left, hit.match, hit.right, place))
    markup.draw_concordance(lines)
