"""Blocks of the part Error analysis about single examples: notes, words in context, and exports."""

import shlex
from functools import partial

import streamlit as st

from vocadapt.analysis.errors.entry_lines import words_of_entry
from vocadapt.analysis.errors.keywords import find_in_examples
from vocadapt.analysis.errors.ledger import Entry
from vocadapt.analysis.errors.report import KINDS, OUTCOME_COLUMNS, Report
from vocadapt.analysis.errors.slicing import ALL, OWN, SliceSettings, Slicing
from vocadapt.errors import InputError
from vocadapt.lab.reports.ledgers import RunPair
from vocadapt.lab.steps.command_lines import PROGRAM, setting_arguments
from vocadapt.lab.workspace.notes import Note, list_tags, load_notes, save_note
from vocadapt.lab.workspace.strict_json import dumps
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.table import Column, Table
from vocadapt.system.forecasts import forecast_at_default_rate
from vocadapt.text.corpus import Corpus
from vocadapt.text.keyword_in_context import ContextSettings, measure_search
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.ui.components import keyword_in_context, mistakes
from vocadapt.ui.components.blocks import draw_command, draw_downloads, draw_note, open_details
from vocadapt.ui.parts.errors.filters import read_slice
from vocadapt.ui.parts.errors.view import ShownComparison
from vocadapt.ui.state import cache
from vocadapt.ui.text import markup
from vocadapt.ui.text.markup import escape_invisible, plain
from vocadapt.ui.text.number_formats import count, format_forecast

SHORT, WORDS = 160, 60  # characters of a note on its card; of an entity in a picker
CONTEXT = "errors_context"  # key of the folded block, and query parameter
LINES = ContextSettings(limit=8, width=50)
IN_A_REPORT = 3.0  # duration of searching all words of a report, relative to one word
AT_MOST = 10.0  # seconds that a download may search a text
TAGS = ("annotation error", "boundary", "abbreviation", "rare word")  # others can be typed


def summarize_notes(workspace: Workspace) -> dict[str, str]:
    """Return the beginning of each note with its tags, by the id of its entry.

    Empty if the notes cannot be read: the note form shows that error.
    """
    try:
        notes = load_notes(workspace)
    except InputError:
        return {}
    summaries = {}
    for id, one in notes.items():
        text = one.text
        if len(text) > SHORT:
            text = f"{text[:SHORT]} …"
        summaries[id] = " · ".join(filter(None, (text, ", ".join(one.tags))))
    return summaries


def draw_note_form(workspace: Workspace, shown: ShownComparison) -> None:
    """Draw the note and tags of one of the cards; changes are saved in the workspace."""
    if not shown.views:
        return
    entry, title = _pick_card(shown, "Note", "noted")
    id = entry.id
    with mistakes.show_errors():
        notes = load_notes(workspace)
        held = notes.get(id, Note(""))
        given = (workspace, id, title)
        st.text_area(
            "Note",
            held.text,
            key=f"note {id}",
            label_visibility="collapsed",
            height=90,
            on_change=_save_note,
            args=given,
            placeholder="saved in the workspace and exported with the report",
        )
        st.multiselect(
            "Tags",
            list(dict.fromkeys([*list_tags(notes), *TAGS])),
            list(held.tags),
            key=f"tags {id}",
            accept_new_options=True,
            on_change=_save_note,
            args=given,
            label_visibility="collapsed",
            placeholder="tags",
        )


@st.fragment
def draw_contexts(workspace: Workspace, shown: ShownComparison) -> None:
    """Draw the words of an example in context: in examples, and in the text of the new words."""
    if not shown.views:
        return
    compared = shown.compared
    block = st.expander(
        "Words in context",
        key=CONTEXT,
        icon=":material/manage_search:",
        on_change="rerun",
        bind="query-params",
    )
    if not block.open:
        return
    with block, mistakes.show_errors():
        entry, _ = _pick_card(shown, "Example", "in_context")
        words = words_of_entry(compared.ledger, entry, compared.words)
        names = list(dict.fromkeys(word.word for word in words if any(map(str.isalnum, word.word))))
        word = st.pills(
            "Word",
            names,
            default=next(iter(names), None),
            key=f"word of {entry.id}",
            label_visibility="collapsed",
            format_func=lambda name: plain(name[:60]),
        )
        if word:
            _draw_word_in_context(workspace, compared, str(word))


def draw_details(workspace: Workspace, shown: ShownComparison, slicing: Slicing) -> None:
    """Draw the folded block: the command, the test, tables of errors, and the report as files."""
    compared, settings = shown.compared, slicing.settings
    name = read_slice()
    command = build_command(compared, settings, name, _searchable_text(compared)[0])
    with open_details():
        draw_command(command, "The same in a terminal")
        test = compared.test
        st.markdown(
            f"{plain(compared.scorer.name)}: {plain(slicing.definition)}. Paired test:"
            f" approximate randomization over {count(test.units)} units, {count(test.rounds)}"
            " random permutations, two-sided; a difference with p ≥ .05 is not claimed."
            " Differences of slices are not tested: they show where a change comes from, not"
            " whether it is significant."
        )
        # 1. Types of errors and of entities, as tables.
        left, right = st.columns(2)
        left.markdown("Error types")
        with left:
            markup.draw_plain_table(Table("", KINDS, compared.ledger.kinds))
        right.markdown("By type")
        rows = [
            {"type": label or "–", **counts} for label, counts in compared.ledger.by_label.items()
        ]
        with right:
            markup.draw_plain_table(Table("", (Column("type", "Type"), *OUTCOME_COLUMNS), rows))
        # 2. The report, built only when it is downloaded.
        report = partial(build_report, workspace, shown, slicing, name, command)
        draw_downloads(
            {
                "errors.html": lambda: report().html(),
                "errors.csv": lambda: report().csv(),
                "errors.json": lambda: dumps(report().build_analysis(), indent=1),
            }
        )


def build_report(
    workspace: Workspace, shown: ShownComparison, slicing: Slicing, name: str, command: str
) -> Report:
    """Build the report of the comparison, with the notes of the workspace."""
    compared = shown.compared
    noted = {id: (note.text, note.tags) for id, note in load_notes(workspace).items()}
    first, second = (one.label for one in shown.picked)
    corpus, why = _searchable_text(compared)
    return Report(
        slicing, (first, second), compared.test, noted, name, command, compared.train, corpus, why
    )


def _find_run(compared: RunPair) -> SavedRun | None:
    """Return the run whose new words are looked up: the second one, if it is not a file."""
    return compared.runs[1] or compared.runs[0]


def _searchable_text(compared: RunPair) -> tuple[Corpus | None, str]:
    """Return the text of the new words if it can be searched in time; else None, and why."""
    run = _find_run(compared)
    text = cache.corpus_behind(str(run.folder)) if run else None
    if text is None:
        return None, ""
    forecast = forecast_at_default_rate(measure_search(text, IN_A_REPORT))
    if forecast.total_idle_seconds <= AT_MOST:
        return text, ""
    return None, (
        f"which takes about {format_forecast(forecast)} to search, too long for a download; the"
        " command line can search it"
    )


def build_command(
    compared: RunPair, settings: SliceSettings, name: str = ALL, corpus: Corpus | None = None
) -> str:
    """Build the command line of the same comparison, with a corpus if it reads all its lines."""
    # 1. What is compared.
    spec = compared.spec
    default = SliceSettings()
    parts = [*PROGRAM, "compare", *dict.fromkeys((spec.first, spec.second))]
    for flag in ("gold", "kind", "scorer"):
        value = getattr(spec, flag)
        if value:
            parts += [f"--{flag}", value]
    # 2. How, as far as it differs from the defaults.
    tokenizations = [name for name in compared.tokenizations if name]
    if tokenizations:
        parts += ["--tokenization", *tokenizations]
    # The command does not know slices saved by the user. A suffix alone would select its own slice.
    if name.startswith(OWN):
        name = ALL
    if name != ALL or settings.suffix != default.suffix:
        parts += ["--slice", name]
    parts += setting_arguments(settings, default)
    # The command reads files without settings.
    if corpus and corpus.settings.reads_all and not corpus.settings.field:
        parts += ["--corpus", *map(str, corpus.files)]
    return shlex.join([*parts, "--html", "errors.html"])


def _pick_card(shown: ShownComparison, label: str, key: str) -> tuple[Entry, str]:
    """Draw the picker of one of the cards; return its entry and its title."""
    titles: dict[str, str] = {}
    for view, entry in zip(shown.views, shown.entries, strict=True):
        parts = (entry.unit.text[:WORDS], view.title, view.event)
        titles[entry.id] = escape_invisible(" · ".join(filter(None, parts)))
    # Numbered, because a picker cannot tell equal titles apart.
    ids = list(titles)
    id = st.selectbox(
        label, ids, format_func=lambda id: f"{ids.index(id) + 1} · {titles[id]}", key=key
    )
    return shown.entries[ids.index(id)], titles[id]


def _draw_word_in_context(workspace: Workspace, compared: RunPair, word: str) -> None:
    """Draw the lines with a word: in the test and training examples, and in the text."""
    splitter = compared.words.splitter
    if splitter is None:
        st.markdown(":gray[Words cannot be found: neither run has a tokenizer.]")
        return
    # Examples of the task: those that are scored, and those that the model was trained on.
    sources = {"test": compared.split.examples, "training": compared.train}
    for name, examples in sources.items():
        if examples is not None:
            found = find_in_examples(examples, word, splitter, name, LINES)
            keyword_in_context.draw_occurrences(found, LINES, f"the {name} examples", "example")
    run = _find_run(compared)
    text = cache.corpus_behind(str(run.folder)) if run else None
    if run is not None and text is not None:
        keyword_in_context.draw_lines(word, text, str(run.folder), workspace, key="error_context")
    else:
        draw_note("No lines from the corpus: the text of the new words is unknown or has changed.")


def _save_note(workspace: Workspace, id: str, about: str) -> None:
    text = str(st.session_state.get(f"note {id}") or "")
    tags = [str(tag) for tag in st.session_state.get(f"tags {id}") or ()]
    try:
        save_note(workspace, id, text, tags, about)
    except InputError as error:
        st.toast(plain(mistakes.format_in_one_line(error)), icon=":material/error:")
