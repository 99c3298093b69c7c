"""Parts of the page Error analysis: pickers, outcome counts, cards, slices, and scores by
tokenization.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from vocadapt.analysis.errors.entry_lines import EntryCard, build_card
from vocadapt.analysis.errors.ledger import ALARMS, Entry, count_by_outcome
from vocadapt.analysis.errors.outcomes import BROKEN, FIXED, OUTCOMES, RIGHT, WRONG
from vocadapt.analysis.errors.report import (
    OUTCOME_NOTES,
    SLICE_HEADER,
    format_slices,
    format_tokenization_scores,
    summarize_comparison,
)
from vocadapt.analysis.errors.slicing import ALL, REST, SLICES, SliceSettings, Slicing
from vocadapt.errors import InputError
from vocadapt.lab.reports.ledgers import RunPair
from vocadapt.settings import limits
from vocadapt.training.finetune.mixture import label_tokenization
from vocadapt.training.tasks.kinds import TaskKind
from vocadapt.ui.components import markup
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count, fraction
from vocadapt.ui.errors import comparable
from vocadapt.ui.errors.comparable import Comparable
from vocadapt.ui.frame import address
from vocadapt.ui.frame.address import Choice

EACH = 5  # cards on a page of the list
COLORS = {FIXED: "good", BROKEN: "bad", WRONG: "", RIGHT: ""}
SHORT = dict(zip(ALARMS, ("alarms removed", "alarms added", "alarms in both"), strict=True))
HELP = {
    "find": (
        "Finds entries whose example or predictions contain a word, a phrase or a document name."
    ),
    "slice": "Limits the entries to a slice. Its settings are below the table on the right.",
    "fate": (
        "Selects the outcome: gold units that were fixed, broken, right or wrong in both;"
        " false positives are counted separately."
    ),
}


@dataclass(frozen=True, eq=False)
class Shown:
    """What the page compares: two predictions, opened, and the cards of the list's present page."""

    compared: RunPair
    picked: tuple[Comparable, Comparable]
    views: tuple[EntryCard, ...] = ()
    entries: tuple[Entry, ...] = ()


def choose_two(offered: Sequence[Comparable]) -> Shown | None:
    """Pick the baseline and what it is compared with; None, with a word on why, as long as these
    are the same.
    """
    columns = st.columns([1.35, 1.35, 0.8, 0.8])
    picked = comparable.pick_two(offered, columns)
    if picked is None:
        st.info(
            (
                "Select two runs, two tokenizations of one run, or predictions for the same"
                " examples."
            ),
            icon=":material/compare_arrows:",
        )
        return None
    found = comparable.opened(*picked)
    slicing = found.slicing(_settings())
    names = (ALL, *slicing.available, REST)
    address.settle("errors_slice", Choice(names.__contains__, ALL))
    chosen = columns[2].selectbox(
        "Slice",
        names,
        key="errors_slice",
        format_func=lambda name: _slice_name(slicing, name),
        persist_state="session",
        help=HELP["slice"],
    )
    address.write("errors_slice", [str(chosen)])
    columns[3].text_input(
        "Find",
        key="errors_find",
        bind="query-params",
        placeholder="word, sentence, document",
        help=HELP["find"],
    )
    return Shown(found, picked)


def sliced(shown: Shown) -> Slicing:
    """The ledger under the settings of the slices."""
    return shown.compared.slicing(_settings())


def filtered(slicing: Slicing) -> tuple[Entry, ...]:
    """The entries of the chosen slice that hold what was typed."""
    held = slicing.entries(_chosen())
    return (
        slicing.ledger.search(held, query)
        if (query := str(st.session_state.get("errors_find") or "").strip())
        else held
    )


def headline(shown: Shown, slicing: Slicing, entries: Sequence[Entry]) -> None:
    """The four counts; below them both scores, and whether chance alone makes their difference."""
    counts, asked = count_by_outcome(entries), _fate()
    said = [f"{fate} · {OUTCOME_NOTES[fate]}" for fate in (FIXED, BROKEN)] + [WRONG, RIGHT]
    cards = [
        (counts[fate], about, COLORS[fate]) for fate, about in zip(OUTCOMES, said, strict=True)
    ]
    markup.fate_counts(cards, list(OUTCOMES).index(asked) if asked in OUTCOMES else -1)
    of = (
        ""
        if len(entries) == len(shown.compared.ledger.entries)
        else "On all entries, not only those listed: "
    )
    scores, difference = summarize_comparison(shown.compared.test, plain(slicing.metric))
    st.markdown(f"{of}**{scores}**, {difference}.")
    draw_note(f"{plain(slicing.scorer.name)}: {plain(slicing.definition)}.")


def cards(shown: Shown, entries: Sequence[Entry], notes: Mapping[str, str]) -> Shown:
    """The list of one fate, some cards at a time, each with the note on it."""
    counts = count_by_outcome(entries)
    names = [fate for fate in (*OUTCOMES, *ALARMS) if counts[fate] or fate in OUTCOMES]
    address.settle(
        "errors_fate",
        Choice(names.__contains__, next((fate for fate in names if counts[fate]), FIXED)),
    )
    fate = str(
        st.segmented_control(
            "Outcome",
            names,
            key="errors_fate",
            persist_state="session",
            required=True,
            label_visibility="collapsed",
            wrap=True,
            format_func=lambda name: f"{SHORT.get(name, name)} {count(counts[name])}",
            help=HELP["fate"],
        )
    )
    address.write("errors_fate", [fate])
    held = _of_kind([entry for entry in entries if entry.outcome == fate], shown.compared.kind)
    if not held:
        _none(fate, counts)
        return shown
    pages = -(-len(held) // EACH)
    place = st.container()
    number = _page(pages)
    part = held[(number - 1) * EACH : number * EACH]
    words = shown.compared.words
    views = tuple(
        build_card(shown.compared.ledger, entry, words, shown.compared.near) for entry in part
    )
    with place:
        for view in views:
            markup.entry_card(view, notes.get(view.id, ""))
        first = (number - 1) * EACH + 1
        draw_note(
            f"{count(first)} to {count(first + len(part) - 1)} of {count(len(held))} {plain(fate)}"
        )
    return Shown(shown.compared, shown.picked, views, tuple(part))


def slices(shown: Shown, slicing: Slicing) -> None:
    """Where the change comes from: each slice with its units, the difference it makes, fixed and
    broken.
    """
    st.subheader("Change by slice")
    scores = slicing.scores()
    names = [one.name for one in scores]
    chosen = names.index(_chosen()) if _chosen() in names else -1
    header = (SLICE_HEADER[0], "n", f"Δ {slicing.metric} points", SLICE_HEADER[3])
    markup.plain_table(header, format_slices(scores), chosen)
    with st.popover("Slice settings", icon=":material/tune:"):
        about = "Selects words with this ending, ignoring case; for example -ia."
        st.text_input("Word ending", key="errors_suffix", bind="query-params", help=about)
        st.number_input(
            "Min wordpieces before",
            *limits(SliceSettings, "pieces"),
            key="errors_pieces",
            bind="query-params",
        )
        st.number_input(
            "Rare in training below",
            *limits(SliceSettings, "seldom"),
            key="errors_seldom",
            bind="query-params",
        )
    if shown.compared.train is None:
        draw_note("The training examples are unknown: no slice by occurrences in training.")
    elif found := shown.compared.ending(slicing.settings.suffix):
        said = (
            f"{count(found.inside)} of {count(found.occurrences)} words that end in"
            f" {plain(found.suffix)} are inside an entity"
        )
        draw_note(f"In training {said} ({fraction(found.share)}).")


def tokenizations(slicing: Slicing) -> None:
    """Show the score of each tokenization over the chosen slice, if the run has two."""
    found = slicing.by_tokenization(_chosen())
    if found:
        st.subheader("Score by tokenization")
        if _chosen() != ALL:
            draw_note(f"Entries of this slice only: {plain(slicing.title(_chosen()))}.")
        markup.plain_table(("", *map(label_tokenization, found)), format_tokenization_scores(found))


def _none(fate: str, counts: Mapping[str, int]) -> None:
    """Nothing to list: because of what is searched for, then where else it is found, or because
    there is nothing.
    """
    query = str(st.session_state.get("errors_find") or "").strip()
    if not query:
        st.markdown(f":gray[There are no entries: {plain(fate)}.]")
        return
    others = [
        f"{SHORT.get(name, name)} {count(n)}"
        for name in (*OUTCOMES, *ALARMS)
        if (n := counts[name])
    ]
    found = (
        f"Under the other tabs: {', '.join(others)}."
        if others
        else "Nothing under the other tabs either."
    )
    st.markdown(
        f":gray[Nothing {plain(SHORT.get(fate, fate))} matches the search “{plain(query[:60])}”."
        f" {found}]"
    )


def _page(pages: int) -> int:
    """Which page of the cards; it stands in the address, so that a link and a reload keep it."""
    if pages < 2:
        address.write("errors_page", [])
        return 1
    asked = st.query_params.get("errors_page", "1")
    number = st.pagination(
        pages,
        default=int(asked) if asked in map(str, range(1, pages + 1)) else 1,
        key="errors_page",
    )
    address.write("errors_page", [str(number)] if number > 1 else [])
    return number


def _of_kind(entries: list[Entry], kind: TaskKind) -> list[Entry]:
    """Those with one kind of error, where it was asked for: a filter that stands beside the list
    only where there are two.
    """
    there = [
        name
        for name in kind.error_kinds
        if any(name in (entry.first.error, entry.second.error) for entry in entries)
    ]
    if len(there) < 2:
        return entries
    address.settle("errors_kind", Choice(there.__contains__))
    chosen = st.pills(
        "Error type",
        there,
        key="errors_kind",
        persist_state="session",
        label_visibility="collapsed",
        format_func=lambda name: (
            f"{name} {sum(name in (e.first.error, e.second.error) for e in entries)}"
        ),
    )
    address.write("errors_kind", [chosen] if chosen else [])
    return [
        entry
        for entry in entries
        if chosen is None or chosen in (entry.first.error, entry.second.error)
    ]


def _settings() -> SliceSettings:
    """Read the settings of the slices; they are part of the address."""
    default = SliceSettings()
    keys = {f"errors_{name}": getattr(default, name) for name in ("suffix", "pieces", "seldom")}
    for key, usual in keys.items():
        if key not in st.session_state and key not in st.query_params:
            st.session_state[key] = usual
    values = [st.session_state.get(key, st.query_params.get(key)) for key in keys]
    try:
        return SliceSettings(
            str(values[0]).strip() or default.suffix, int(values[1] or 0), int(values[2] or 0)
        )
    except (InputError, ValueError):
        return default


def _chosen() -> str:
    return str(st.session_state.get("errors_slice") or ALL)


def _fate() -> str:
    return str(st.session_state.get("errors_fate", st.query_params.get("errors_fate", FIXED)))


def _slice_name(slicing: Slicing, name: str) -> str:
    if name == ALL:
        return "all entities" if slicing.ledger.kind.finds_entities else "all"
    return slicing.title(name) if name == REST or name in SLICES else name
