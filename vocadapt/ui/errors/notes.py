"""Parts of the page Error analysis about single examples: notes, words in context, and exports."""

import shlex
from collections import Counter

import streamlit as st

from vocadapt.analysis.errors.entry_lines import words_of_entry
from vocadapt.analysis.errors.example_context import find_in_examples
from vocadapt.analysis.errors.outcomes import OUTCOMES
from vocadapt.analysis.errors.report import Report
from vocadapt.analysis.errors.slicing import ALL, SliceSettings, Slicing
from vocadapt.errors import InputError
from vocadapt.lab.reports.ledgers import RunPair
from vocadapt.lab.steps.command_lines import PROGRAM
from vocadapt.lab.workspace.notes import notes_of, save_note, tags_in
from vocadapt.lab.workspace.strict_json import dumps
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.text.corpus import Corpus
from vocadapt.text.keyword_in_context import Context, ContextSettings
from vocadapt.ui.components import keyword_in_context, markup
from vocadapt.ui.components.blocks import draw_command, draw_note
from vocadapt.ui.components.estimates import format_estimate
from vocadapt.ui.components.export import draw_downloads, open_details
from vocadapt.ui.components.markup import escape_invisible, plain
from vocadapt.ui.components.number_formats import count
from vocadapt.ui.errors.view import Shown
from vocadapt.ui.frame import mistakes, run_cache

SHORT, WORDS = 160, 60  # characters of a note on its card; of an entity in a picker
LINES = ContextSettings(limit=8, width=50)
IN_A_REPORT = 3.0  # times as long as looking one word up: all of them, in one reading
AT_MOST = 10.0  # seconds that a download may look through a text
TAGS = (
    "annotation error",
    "boundary",
    "abbreviation",
    "rare word",
)  # to begin with; any other can be typed


def kept(workspace: Workspace) -> dict[str, str]:
    """The beginning of each note with its tags, by what it is on; none where they cannot be read:
    its own field says why.
    """
    try:
        notes = notes_of(workspace)
    except InputError:
        return {}
    short = {
        id: one.text if len(one.text) <= SHORT else f"{one.text[:SHORT]} …"
        for id, one in notes.items()
    }
    return {
        id: " · ".join(filter(None, (short[id], ", ".join(one.tags)))) for id, one in notes.items()
    }


def note(workspace: Workspace, shown: Shown) -> None:
    """A note and tags on one of the cards; kept with the workspace as soon as they are typed."""
    if not shown.views:
        return
    titles = _titles(shown)
    id = st.selectbox("Note", list(titles), format_func=titles.__getitem__, key="noted")
    with mistakes.shown():
        notes = notes_of(workspace)
        held = notes.get(id)
        text_key, tags_key = f"note {id}", f"tags {id}"
        offered = list(dict.fromkeys([*tags_in(notes), *TAGS]))
        given = (workspace, id, titles[id], text_key, tags_key)
        st.text_area(
            "Note",
            held.text if held else "",
            key=text_key,
            label_visibility="collapsed",
            height=90,
            on_change=_keep,
            args=given,
            placeholder="saved in the workspace and exported with the report",
        )
        st.multiselect(
            "Tags",
            offered,
            list(held.tags) if held else [],
            key=tags_key,
            accept_new_options=True,
            on_change=_keep,
            args=given,
            label_visibility="collapsed",
            placeholder="tags",
        )


def contexts(workspace: Workspace, shown: Shown) -> None:
    """The words of an example in the test and training examples, and in the text that the new words
    came from.
    """
    if not shown.views:
        return
    compared = shown.compared
    with st.expander("Words in context", icon=":material/manage_search:"):
        titles = _titles(shown)
        id = st.selectbox("Example", list(titles), format_func=titles.__getitem__, key="in_context")
        entry = next(one for one in shown.entries if one.id == id)
        words = words_of_entry(compared.ledger, entry, compared.words)
        names = list(dict.fromkeys(word.word for word in words if any(map(str.isalnum, word.word))))
        word = st.pills(
            "Word",
            names,
            default=names[0] if names else None,
            key=f"word of {id}",
            label_visibility="collapsed",
            format_func=lambda name: plain(name[:60]),
        )
        if word:
            _lines(workspace, compared, str(word))


def details(workspace: Workspace, shown: Shown, slicing: Slicing) -> None:
    """Details & export: what was compared and how, the same as a command, the report in three
    forms.
    """
    compared, settings = shown.compared, slicing.settings
    name = str(st.session_state.get("slice") or ALL)
    command = command_of(compared, settings, name, _looked_through(compared)[0])
    with open_details():
        st.markdown("The same in a terminal")
        draw_command(command)
        test = compared.test
        st.markdown(
            f"{plain(compared.scorer.name)}: {plain(slicing.definition)}. Paired test:"
            f" approximate randomisation over {count(test.units)} units, {count(test.rounds)}"
            " draws, two-sided; no claim if p ≥ .05. Differences of slices are not tested:"
            " they show where a change comes from, not that it is significant."
        )
        left, right = st.columns(2)
        left.markdown("Error types")
        kinds = [
            (kind, f"{n['first']:,}", f"{n['second']:,}")
            for kind, n in compared.ledger.kinds.items()
        ]
        with left:
            markup.plain_table(("kind", "baseline", "compared"), kinds)
        right.markdown("By type")
        rows = [
            (label or "–", *(f"{counts[fate]:,}" for fate in OUTCOMES))
            for label, counts in compared.ledger.by_label.items()
        ]
        with right:
            markup.plain_table(("type", *OUTCOMES), rows)
        forms = {
            "errors.html": lambda: report_of(workspace, shown, slicing, name, command).html(),
            "errors.csv": lambda: report_of(workspace, shown, slicing, name, command).csv(),
            "errors.json": lambda: dumps(
                report_of(workspace, shown, slicing, name, command).to_dict(), indent=1
            ),
        }
        draw_downloads(forms)


def report_of(
    workspace: Workspace, shown: Shown, slicing: Slicing, name: str, command: str
) -> Report:
    """The report of what the page shows, with the notes of the workspace."""
    compared = shown.compared
    noted = {id: (note.text, note.tags) for id, note in notes_of(workspace).items()}
    first, second = (one.name for one in shown.picked)
    corpus, why = _looked_through(compared)
    return Report(
        slicing, (first, second), compared.test, noted, name, command, compared.train, corpus, why
    )


def _text_behind(compared: RunPair) -> Corpus | None:
    """The text behind the new words; None where it is not known."""
    run = compared.runs[1] or compared.runs[0]
    return run_cache.corpus_behind(run.folder) if run else None


def _looked_through(compared: RunPair) -> tuple[Corpus | None, str]:
    """The text behind the new words, where a report may look its words up in it; else None, and why
    not where one is known.
    """
    text = _text_behind(compared)
    seconds = IN_A_REPORT * keyword_in_context.estimate_seconds(text) if text else 0.0
    if text is None or seconds <= AT_MOST:
        return text, ""
    took = format_estimate(seconds)
    return (
        None,
        (
            f"which takes about {took} to search, too long for a download; the command line"
            " can search it"
        ),
    )


def command_of(
    compared: RunPair, settings: SliceSettings, name: str = ALL, corpus: Corpus | None = None
) -> str:
    """The same comparison as a command line; with the files of a corpus where all of their lines
    are looked through.
    """
    asked, default = compared.spec, SliceSettings()
    parts = [
        *PROGRAM,
        "compare",
        asked.first,
        *([asked.second] if asked.second != asked.first else []),
    ]
    parts += ["--gold", asked.gold] if asked.gold else []
    parts += [
        part
        for one in ("kind", "scorer")
        if (value := getattr(asked, one))
        for part in (f"--{one}", value)
    ]
    tokenizations = [name for name in compared.tokenizations if name]
    if tokenizations:
        parts += ["--tokenization", *tokenizations]
    parts += ["--slice", name] if name != ALL else []
    flags = ((one, getattr(settings, one)) for one in ("suffix", "pieces", "seldom"))
    parts += [
        part
        for one, value in flags
        if value != getattr(default, one)
        for part in (f"--{one}", str(value))
    ]
    parts += (
        ["--slice", ALL] if name == ALL and "--suffix" in parts else []
    )  # an ending alone chooses its slice
    whole = (
        corpus and corpus.settings.reads_all and not corpus.settings.field
    )  # compare reads files without settings
    parts += ["--corpus", *map(str, corpus.files)] if corpus and whole else []
    return shlex.join([*parts, "--html", "errors.html"])


def _titles(shown: Shown) -> dict[str, str]:
    """Each card in a picker: its words first, where it stands, what happened; of two alike from
    which word on.
    """
    texts = {
        entry.id: escape_invisible(
            " · ".join(filter(None, (entry.unit.text[:WORDS], view.title, view.event)))
        )
        for view, entry in zip(shown.views, shown.entries, strict=True)
    }
    often = Counter(texts.values())
    places = {entry.id: entry.unit.start + 1 for entry in shown.entries}
    return {
        id: f"{text} · from {places[id]:,} on" if often[text] > 1 else text
        for id, text in texts.items()
    }


def _lines(workspace: Workspace, compared: RunPair, word: str) -> None:
    splitter = compared.words.splitter
    if splitter is None:
        st.markdown(":gray[Neither run keeps a tokenizer to find words by.]")
        return
    try:
        _told(
            "test examples",
            find_in_examples(compared.split.examples, word, splitter, "test", LINES),
        )
        if compared.train is not None:
            _told(
                "training examples",
                find_in_examples(compared.train, word, splitter, "training", LINES),
            )
    except InputError as error:
        st.text(mistakes.format_in_one_line(error))
        return
    run = compared.runs[1] or compared.runs[0]
    if run is not None and (text := _text_behind(compared)) is not None:
        keyword_in_context.in_context(word, text, str(run.folder), workspace, key="error_context")
    else:
        draw_note("No lines from the corpus: the text of the new words is unknown or has changed.")


def _told(where: str, found: Context) -> None:
    st.markdown(
        f"**{plain(found.word[:60])}** in the {where} :small[:gray[{found.describe(LINES)}]]"
    )
    if found.hits:
        places = [f"{hit.file}, example {hit.line:,}" for hit in found.hits]
        markup.concordance(
            [
                markup.Line(hit.left, hit.match, hit.right, at)
                for hit, at in zip(found.hits, places, strict=True)
            ]
        )


def _keep(workspace: Workspace, id: str, about: str, text_key: str, tags_key: str) -> None:
    """What was typed, into the workspace."""
    state = st.session_state
    try:
        save_note(
            workspace,
            id,
            str(state.get(text_key) or ""),
            [str(tag) for tag in state.get(tags_key) or ()],
            about,
        )
    except InputError as error:
        st.toast(plain(mistakes.format_in_one_line(error)), icon=":material/error:")
