"""Blocks of the part Error analysis: pickers, outcome counts, cards, slices, and scores by
tokenization.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from vocadapt.analysis.errors.entry_lines import EntryCard, build_card
from vocadapt.analysis.errors.ledger import Entry
from vocadapt.analysis.errors.report import (
    build_tokenization_table,
    find_alarms,
    summarize_comparison,
)
from vocadapt.analysis.errors.slicing import ALL, COLUMNS, SliceSettings, Slicing
from vocadapt.errors import InputError
from vocadapt.lab.reports.ledgers import RunPair
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.table import Table
from vocadapt.settings import get_settings
from vocadapt.ui.components import pickers, word_links
from vocadapt.ui.components.blocks import draw_heading, draw_note, draw_task_remark
from vocadapt.ui.components.setting_inputs import draw_linked_setting
from vocadapt.ui.parts.errors import comparable, filters
from vocadapt.ui.parts.errors.comparable import Comparable
from vocadapt.ui.state import address
from vocadapt.ui.text import markup
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count, percent

CARDS_PER_PAGE = 5


@dataclass(frozen=True, eq=False)
class ShownComparison:
    """The two sides that the page compares, and the cards on the current page of the list."""

    compared: RunPair
    picked: tuple[Comparable, Comparable]
    views: tuple[EntryCard, ...] = ()
    entries: tuple[Entry, ...] = ()


def choose_two(
    workspace: Workspace, offered: Sequence[Comparable]
) -> tuple[ShownComparison, Slicing] | None:
    """Draw the pickers of the baseline, the compared run and the slice, and the search field;
    return both runs and their slices. Returns None, with a message, if the two sides are the same.
    """
    # 1. The two sides.
    offered = comparable.choose_task(offered)
    columns = [*st.columns(2), *st.columns(2)]  # two rows: names of runs are long
    picked = comparable.pick_two(offered, columns)
    if picked is None:
        st.info(
            "Select two runs, two tokenizations of one run, or predictions for the same examples.",
            icon=":material/compare_arrows:",
        )
        return None
    if differences := comparable.describe_differences(*picked):
        st.warning(plain(differences), icon=":material/compare_arrows:")
    # 2. The slices, which depend on the examples.
    found = comparable.open_pair(*picked)
    slicing = found.slicing(_settings(), filters.list_own_slices(workspace))
    names = [ALL, *slicing.names]
    labels = {name: filters.name_slice(slicing, name) for name in names}
    with columns[2]:
        pickers.pick_name("Slice", names, filters.SLICE, ALL, labels=labels)
    # 3. The search.
    with columns[3]:
        filters.draw_search()
    return ShownComparison(found, picked), slicing


def draw_headline(shown: ShownComparison, slicing: Slicing, entries: Sequence[Entry]) -> str:
    """Draw the outcomes as buttons, both scores and their test; return the selected outcome."""
    # 1. The four outcomes, of the entries that the filters leave.
    filters.draw_active_filters(slicing)
    outcome = filters.draw_outcome_buttons(entries)
    # 2. Both scores and the test, always over all entries.
    scores, difference = summarize_comparison(shown.compared.test, plain(slicing.metric))
    basis = "On all entries, not only those listed: "
    if len(entries) == len(shown.compared.ledger.entries):
        basis = ""
    definition = f"{plain(slicing.scorer.name)}: {plain(slicing.definition)}."
    st.markdown(f"{basis}**{scores}**, {difference}.", help=definition)
    for finding in find_alarms(shown.compared.ledger.counts, shown.compared.test.difference):
        st.markdown(finding.sentence)
    for about in {run.about for run in shown.compared.runs if run and run.about}:
        draw_task_remark(about)
    return outcome


def draw_cards(
    shown: ShownComparison, entries: Sequence[Entry], outcome: str, notes: Mapping[str, str]
) -> ShownComparison:
    """Draw the entries with one outcome as cards, a few per page, each with its note."""
    # 1. The entries with this outcome and, if chosen, this type of error.
    with_outcome = [entry for entry in entries if entry.outcome == outcome]
    compared = shown.compared
    listed = filters.filter_by_error(with_outcome, compared.kind)
    if not listed:
        st.markdown(f":gray[There are no entries with this outcome: {plain(outcome)}.]")
        return shown
    # 2. One page of them as cards.
    place = st.container()  # drawn above the pagination on which it depends
    first = CARDS_PER_PAGE * (_choose_page(pages=-(-len(listed) // CARDS_PER_PAGE)) - 1)
    part = tuple(listed[first : first + CARDS_PER_PAGE])
    views = tuple(
        build_card(compared.ledger, entry, compared.words, compared.near) for entry in part
    )
    with place:
        for view in views:
            markup.draw_entry_card(view, notes.get(view.id, ""))
        draw_note(
            f"{count(first + 1)} to {count(first + len(part))} of {count(len(listed))}"
            f" {plain(outcome)}"
        )
    return replace(shown, views=views, entries=part)


def draw_slices(shown: ShownComparison, slicing: Slicing) -> None:
    """Draw the table of slices: units, difference of the scores, and numbers fixed and broken."""
    draw_heading("Change by slice")
    # 1. The table; the selected slice is marked, and a click on a name selects it.
    scores = slicing.scores()
    names = [one.name for one in scores]
    selected = filters.read_slice()
    chosen = names.index(selected) if selected in names else -1
    links = word_links.build_links(filters.SLICE)
    markup.draw_plain_table(Table("", COLUMNS, scores), chosen, names, links)
    word_links.listen(filters.SLICE, filters.select_slice)
    with st.popover("Slice settings", icon=":material/tune:"):
        for name in get_settings(SliceSettings):
            draw_linked_setting(SliceSettings, name, f"errors_{name}")
    # 2. How often training words with the selected ending are inside an entity.
    if shown.compared.train is None:
        draw_note("Without training examples, there are no slices by occurrences in training.")
        return
    ending = shown.compared.ending(slicing.settings.suffix)
    if ending:
        draw_note(
            f"In training {count(ending.inside)} of {count(ending.occurrences)} words that end in"
            f" {plain(ending.suffix)} are inside an entity ({percent(ending.share)})."
        )


def draw_scores_by_tokenization(slicing: Slicing) -> None:
    """Draw the score of each tokenization in the selected slice, if the runs have several."""
    name = filters.read_slice()
    found = slicing.by_tokenization(name)
    if found:
        draw_heading("Score by tokenization")
        if name != ALL:
            draw_note(f"Entries of this slice only: {plain(slicing.title(name))}.")
        markup.draw_plain_table(build_tokenization_table("", found))


def _choose_page(pages: int) -> int:
    """Show the pagination of the cards; return the page, which is kept in the address."""
    number = 1
    if pages > 1:
        requested = st.query_params.get(filters.PAGE, "1")
        # The page number of a link may exceed the number of pages.
        default = int(requested) if requested in map(str, range(1, pages + 1)) else 1
        number = st.pagination(pages, default=default, key=filters.PAGE)
    address.write(filters.PAGE, [str(number)] if number > 1 else [])
    return number


def _settings() -> SliceSettings:
    """Return the settings of the slices, which are kept in the address."""
    default = SliceSettings()
    values = {}
    try:
        for name, declared in get_settings(default).items():
            key = f"errors_{name}"
            given = st.session_state.get(key, st.query_params.get(key))
            values[name] = declared.kind(str(given or getattr(default, name)).strip())
        return SliceSettings(**values)
    # The values may come from an edited link.
    except (InputError, ValueError):
        return default
