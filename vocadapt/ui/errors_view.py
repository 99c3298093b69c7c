"""Parts of the error analysis: which two, the four counts, the cards, where the change comes from, which cut was right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from vocadapt.analysis.entry_view import EntryView, view_of
from vocadapt.analysis.error_kinds import ERROR_KINDS
from vocadapt.analysis.error_report import SAID, SLICE_HEADER, cut_rows, slice_rows, test_line
from vocadapt.analysis.fates import BROKEN, FATES, FIXED, RIGHT, WRONG
from vocadapt.analysis.ledger import ALARMS, Entry, counted
from vocadapt.analysis.report import fraction as score
from vocadapt.analysis.report import points
from vocadapt.analysis.slicing import ALL, REST, SLICES, SliceSettings, Slicing
from vocadapt.errors import InputError
from vocadapt.lab.ledgers import RunPair
from vocadapt.lab.workspace import Workspace
from vocadapt.training.encoding import BASE
from vocadapt.training.tasks.base import Sentence
from vocadapt.training.tasks.slices import suffix_slice
from vocadapt.ui import choose, markup, run_cache
from vocadapt.ui.choose import ChosenRun
from vocadapt.ui.markup import plain
from vocadapt.ui.numbers import count, fraction

EACH = 5  # cards on a page of the list
COLOURS = {FIXED: "good", BROKEN: "bad", WRONG: "", RIGHT: ""}
SHORT = dict(zip(ALARMS, ("alarms removed", "alarms added", "alarms in both"), strict=True))
HELP = {
    "find": "A word, a part of a sentence, a document: entries whose example or predictions hold it.",
    "slice": "Only units of this slice; its settings stand under the table on the right.",
    "fate": "Gold units by what became of them; false alarms, where gold has nothing, are counted apart.",
}


@dataclass(frozen=True, eq=False)
class Shown:
    """What the page compares: two runs under a cut each, opened, and the cards of the list's present page."""

    compared: RunPair
    picked: tuple[ChosenRun, ChosenRun]
    views: tuple[EntryView, ...] = ()
    entries: tuple[Entry, ...] = ()


def choose_two(workspace: Workspace) -> Shown | None:
    """Pick the baseline and what it is compared with; None, with a word on why, as long as these are the same."""
    columns = st.columns([1.35, 1.35, 0.8, 0.8])
    with columns[0]:
        first = choose.pick_run(workspace, "Baseline", "baseline", _baseline(workspace), cuts=True)
    if first is None:
        return None
    with columns[1]:
        second = choose.pick_run(workspace, "Compared with", "compared", task=first.of.task, cuts=True)
    if second is None or (second.run.folder, second.cut) == (first.run.folder, first.cut):
        st.info("Choose two runs, or two cuts of one run.", icon=":material/compare_arrows:")
        return None
    found = run_cache.run_pair(first.run.folder, first.cut, second.run.folder, second.cut, _stamps(first, second))
    slicing = found.slicing(_settings())
    names = (ALL, *slicing.available, REST)
    choose.from_address("slice", names, ALL)
    chosen = columns[2].selectbox(
        "Slice", names, key="slice", format_func=lambda name: _slice_name(slicing, name), help=HELP["slice"]
    )
    choose.to_address("slice", str(chosen))
    columns[3].text_input("Find", key="find", bind="query-params", placeholder="word, sentence, document", help=HELP["find"])
    return Shown(found, (first, second))


def sliced(shown: Shown) -> Slicing:
    """The ledger under the settings of the slices."""
    return shown.compared.slicing(_settings())


def filtered(slicing: Slicing) -> tuple[Entry, ...]:
    """The entries of the chosen slice that hold what was typed."""
    held = slicing.entries(_chosen())
    return slicing.ledger.found(held, query) if (query := str(st.session_state.get("find") or "").strip()) else held


def headline(shown: Shown, entries: Sequence[Entry]) -> None:
    """The four counts; below them both scores, and whether chance alone makes their difference."""
    counts, asked = counted(entries), _fate()
    said = [f"{fate} · {SAID[fate]}" for fate in (FIXED, BROKEN)] + [WRONG, RIGHT]
    cards = [(counts[fate], about, COLOURS[fate]) for fate, about in zip(FATES, said, strict=True)]
    markup.fate_counts(cards, list(FATES).index(asked) if asked in FATES else -1)
    of = "" if len(entries) == len(shown.compared.ledger.entries) else "Of all, not only of what is listed: "
    st.markdown(f"{of}{_overall(shown)}")


def _overall(shown: Shown) -> str:
    """Both scores, their difference with its interval, the paired test."""
    test = shown.compared.test
    low, high = points(test.interval.low), points(test.interval.high)
    scores = f"**{plain(_metric(shown))} {score(test.a)} → {score(test.b)}**, {points(test.difference)} points"
    return f"{scores} (95 % interval {low} to {high}), {test_line(test).replace(', no', ': no')}."


def cards(shown: Shown, entries: Sequence[Entry], notes: Mapping[str, str]) -> Shown:
    """The list of one fate, some cards at a time, each with the note on it."""
    counts = counted(entries)
    names = [fate for fate in (*FATES, *ALARMS) if counts[fate] or fate in FATES]
    choose.from_address("fate", names, next((fate for fate in names if counts[fate]), FIXED))
    fate = str(st.segmented_control(
        "What became of them", names, key="fate", required=True, label_visibility="collapsed", wrap=True,
        format_func=lambda name: f"{SHORT.get(name, name)} {count(counts[name])}", help=HELP["fate"],
    ))  # fmt: skip
    choose.to_address("fate", fate)
    held = _of_kind([entry for entry in entries if entry.fate == fate], shown.compared.kind)
    if not held:
        _none(fate, counts)
        return shown
    pages = -(-len(held) // EACH)
    place = st.container()
    number = _page(pages)
    part = held[(number - 1) * EACH : number * EACH]
    words = shown.compared.words
    views = tuple(view_of(shown.compared.ledger, entry, words, shown.compared.near) for entry in part)
    with place:
        for view in views:
            markup.entry_card(view, notes.get(view.id, ""))
        first = (number - 1) * EACH + 1
        st.markdown(f":small[:gray[{count(first)} to {count(first + len(part) - 1)} of {count(len(held))} {plain(fate)}]]")
    return Shown(shown.compared, shown.picked, views, tuple(part))


def slices(shown: Shown, slicing: Slicing) -> None:
    """Where the change comes from: each slice with its units, the difference it makes, fixed and broken."""
    st.subheader("Where the change comes from")
    scores = slicing.scores()
    names = [one.name for one in scores]
    chosen = names.index(_chosen()) if _chosen() in names else -1
    header = (SLICE_HEADER[0], "n", f"Δ {_metric(shown)} points", SLICE_HEADER[3])
    markup.plain_table(header, slice_rows(scores), chosen)
    with st.popover("Set the slices", icon=":material/tune:"):
        st.text_input("Ending of a word", key="suffix", bind="query-params", help="-ia: words that end so, whatever their case.")
        st.number_input("Cut into so many pieces before", 2, 20, key="pieces", bind="query-params")
        st.number_input("Seen in training fewer times than", 2, 1000, key="seldom", bind="query-params")
    train, suffix = shown.compared.train, slicing.settings.suffix
    if train is None:
        st.markdown(":small[:gray[The training examples are not known: no slice by what was seen in training.]]")
    elif all(isinstance(example, Sentence) for example in train):
        found = suffix_slice(train, suffix)
        said = f"{count(found.inside)} of {count(found.occurrences)} words that end in {plain(found.suffix)} are inside an entity"
        st.markdown(f":small[:gray[In training {said} ({fraction(found.share)}).]]")


def cuts(shown: Shown) -> None:
    """Which cut was right: the score under each cut of a run that has two."""
    found = shown.compared.by_cut
    if found:
        st.subheader("Which cut was right")
        names = {cut: cut if cut == "pooled" else f"{cut} cut" for cut in found}
        markup.plain_table(("", *names.values()), cut_rows(found))


def _none(fate: str, counts: Mapping[str, int]) -> None:
    """Nothing to list: because of what is searched for, then where else it is found, or because there is nothing."""
    query = str(st.session_state.get("find") or "").strip()
    if not query:
        st.markdown(f":gray[There is nothing {plain(fate)} here.]")
        return
    others = [f"{SHORT.get(name, name)} {count(n)}" for name in (*FATES, *ALARMS) if (n := counts[name])]
    found = f"Under the other tabs: {', '.join(others)}." if others else "Nothing under the other tabs does, either."
    st.markdown(f":gray[Nothing {plain(SHORT.get(fate, fate))} matches the search “{plain(query[:60])}”. {found}]")


def _page(pages: int) -> int:
    """Which page of the cards; it stands in the address, so that a link and a reload keep it."""
    if pages < 2:
        choose.to_address("page", "")
        return 1
    asked = st.query_params.get("page", "1")
    number = st.pagination(pages, default=int(asked) if asked in map(str, range(1, pages + 1)) else 1, key="page")
    choose.to_address("page", str(number) if number > 1 else "")
    return number


def _of_kind(entries: list[Entry], kind: str) -> list[Entry]:
    """Those with one kind of error, where it was asked for: a filter that stands beside the list only where there are two."""
    there = [name for name in ERROR_KINDS[kind] if any(name in (entry.first.error, entry.second.error) for entry in entries)]
    if len(there) < 2:
        return entries
    if (asked := st.session_state.get("error", st.query_params.get("error"))) is not None:
        st.session_state["error"] = asked if asked in there else None
    chosen = st.pills(
        "Kind of error", there, key="error", label_visibility="collapsed",
        format_func=lambda name: f"{name} {sum(name in (e.first.error, e.second.error) for e in entries)}",
    )  # fmt: skip
    choose.to_address("error", chosen or "")
    return [entry for entry in entries if chosen is None or chosen in (entry.first.error, entry.second.error)]


def _baseline(workspace: Workspace) -> int:
    """The run to begin with: of the newest run's task the newest one of one cut only, else the newest run's base cut."""
    offered = choose.runs_to_pick(workspace, cuts=True)
    task = [place for place, one in enumerate(offered) if one.of.task == offered[0].of.task]
    plain_ones = [place for place in task if offered[place].of.name != offered[0].of.name and len(offered[place].of.cuts) == 1]
    own = [place for place in task if offered[place].cut == BASE and offered[place].run.folder == offered[0].run.folder]
    return next(iter([*plain_ones, *own, *task[1:]]), 0)


def _settings() -> SliceSettings:
    """What the slices are told by; all of it stands in the address."""
    default = SliceSettings()
    for name in ("suffix", "pieces", "seldom"):
        if name not in st.session_state and name not in st.query_params:
            st.session_state[name] = getattr(default, name)
    values = [st.session_state.get(name, st.query_params.get(name)) for name in ("suffix", "pieces", "seldom")]
    try:
        return SliceSettings(str(values[0]).strip() or default.suffix, int(values[1] or 0), int(values[2] or 0))
    except (InputError, ValueError):
        return default


def _chosen() -> str:
    return str(st.session_state.get("slice") or ALL)


def _fate() -> str:
    return str(st.session_state.get("fate", st.query_params.get("fate", FIXED)))


def _slice_name(slicing: Slicing, name: str) -> str:
    if name == ALL:
        return "all entities" if slicing.ledger.kind == "ner" else "all"
    return slicing.title(name) if name == REST or name in SLICES else name


def _metric(shown: Shown) -> str:
    return "F1" if shown.compared.kind == "ner" else shown.compared.scorer.headline


def _stamps(*picked: ChosenRun) -> tuple[str, ...]:
    return tuple(one.of.artefact.stamp if one.of.artefact else "" for one in picked)
