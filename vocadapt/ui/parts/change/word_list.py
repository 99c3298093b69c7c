"""Words of a comparison: histogram with its range, ranked list, and all words by frequency."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.lab.workspace.slices import save_slice
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.neighbors.change import (
    BY_CHANGE,
    RANKINGS,
    NeighborhoodChange,
    count_by_overlap,
)
from vocadapt.spaces.neighbors.change_report import (
    OVERLAP,
    build_word_table,
    describe_histogram,
    list_changed_words,
)
from vocadapt.spaces.neighbors.noise_baseline import NoiseBaseline, average_by_frequency
from vocadapt.ui.components.blocks import draw_heading, draw_note
from vocadapt.ui.components.slice_form import draw_slice_form
from vocadapt.ui.components.tables import draw_report
from vocadapt.ui.state import address
from vocadapt.ui.text.markup import format_sentence, plain
from vocadapt.ui.text.number_formats import count, percent

WORD, KEPT = "change_word", "change_kept"
RANGE = re.compile(r"\[([0-9]{1,4}),([0-9]{1,4})\]")  # in the address
LISTED = 1_000  # words of the list
ORDER_HELP = (
    "Selects the order of the list. Change × frequency: the fraction of lost neighbors times the"
    " logarithm of the word's frequency, so that well-known words come first."
)


def choose_range(k: int) -> tuple[int, int]:
    """Draw the range slider of the number of neighbors kept; the range is in the address."""
    key = f"{KEPT}_{k}"
    linked = parse_range(address.read_link(KEPT), k)
    if linked is not None:
        st.session_state[key] = linked
    # A default is set here, too: Streamlit warns of one that is passed beside a value set here.
    st.session_state.setdefault(key, (0, k))
    # Streamlit cannot bind the slider to the address: a range selected on the bars would be missing
    # there.
    st.slider(
        f"Neighbors kept, of {k}",
        0,
        k,
        key=key,
        on_change=_clear_brush,
    )
    first, last = st.session_state[key]
    address.write(KEPT, [f"[{first},{last}]" if (first, last) != (0, k) else ""])
    return first, last


def parse_range(text: str, k: int) -> tuple[int, int] | None:
    """Return the range that an address names as [first,last], None if it is not one of 0 to k."""
    found = RANGE.fullmatch(text)
    if found is None or not int(found[1]) <= int(found[2]) <= k:
        return None
    return int(found[1]), int(found[2])


def _clear_brush() -> None:
    """Callback: clear the selection of bars in the browser, which no longer applies."""
    st.session_state["change_range"] = st.session_state.get("change_range", 0) + 1


def draw_histogram(
    change: NeighborhoodChange, baseline: NoiseBaseline | None, kept: tuple[int, int]
) -> None:
    """Draw the histogram of neighbors kept; a click on a bar selects it."""
    shape = str(describe_histogram(change))
    if not change.histogram[:-1].any():
        draw_note(format_sentence(shape))
        return
    k = change.settings.k
    noise = count_by_overlap(baseline.overlap, k) if baseline else None
    # A new key clears the selection in the browser, see `_clear_brush`.
    key = f"overlaps_{k}_{st.session_state.get('change_range', 0)}"
    st.plotly_chart(
        figures.plot_overlap_histogram(change.histogram, noise, kept),
        key=key,
        on_select=lambda: _select_bars(key, k),
        selection_mode="points",
        config={"displayModeBar": False},
        alt=f"Histogram of the neighbors kept. {shape}",
    )
    draw_note(
        f"{format_sentence(shape)} Those that keep all are left out of the figure. Click a bar to"
        " list its words."
    )


def read_range(points: Sequence[Any], k: int) -> tuple[int, int] | None:
    """Return the range of neighbors kept of selected bars, None if none is selected.

    points: as the browser sends them, so they may be anything.
    """
    found = []
    for point in points:
        x = point.get("x") if isinstance(point, dict) else None
        if isinstance(x, int | float) and not isinstance(x, bool) and 0 <= x <= k:
            found.append(round(x))
    return (min(found), max(found)) if found else None


def _select_bars(key: str, k: int) -> None:
    """Callback: list the words of the selected bars; all words if a bar was selected again."""
    kept = read_range(st.session_state[key]["selection"]["points"], k)
    if kept in (None, st.session_state.get(f"{KEPT}_{k}")):
        kept = (0, k)
    st.session_state[f"{KEPT}_{k}"] = kept
    _clear_brush()


def select_rows(
    change: NeighborhoodChange, kept: tuple[int, int], order: str = BY_CHANGE
) -> list[int]:
    """Return the rows of the words that keep a number of neighbors in the range, in an order."""
    # An overlap is a multiple of 1/k in floating point: rounding recovers the number of neighbors.
    numbers = np.rint(change.overlap * change.settings.k).astype(int)
    ranked = change.rank(order)
    return [int(row) for row in ranked if kept[0] <= numbers[row] <= kept[1]]


def draw_ranked_list(
    change: NeighborhoodChange, baseline: NoiseBaseline | None, kept: tuple[int, int], before: str
) -> list[int]:
    """Draw the ranked list and its order; selecting a row searches for its word. Return the rows.

    before: display name of the space before.
    """
    left, right = st.columns([1, 1.6], vertical_alignment="bottom")
    order = left.selectbox(
        "Order", RANKINGS, key="change_order", bind="query-params", help=ORDER_HELP
    )
    rows = select_rows(change, kept, str(order))
    note = (
        f"**{count(len(rows))} of {count(len(change.words))}** words keep {kept[0]} to {kept[1]}"
        " neighbors"
    )
    if len(rows) > LISTED:
        note += f"; the first {count(LISTED)} are listed"
    draw_note(note, right)
    chosen = np.array(rows[:LISTED], dtype=np.int64)
    words = [change.words[row] for row in chosen]
    # Another list has other words: a new key clears the selected row.
    key = f"ranked_{kept[0]}_{kept[1]}_{order}"
    bar = st.column_config.ProgressColumn(
        help=OVERLAP.help, min_value=0, max_value=1, format="%.2f"
    )
    draw_report(
        build_word_table(list_changed_words(change, baseline, chosen)),
        key,
        height=230,
        on_select=lambda: _take_selected(key, words),
        selection_mode="single-row",
        column_config={OVERLAP.label: bar},
    )
    draw_note(
        f"Frequency: {_describe_frequency(change, before)}. Click a row to see its neighbors."
    )
    return rows


def offer_slice(
    workspace: Workspace, change: NeighborhoodChange, rows: list[int], kept: tuple[int, int]
) -> None:
    """Draw the form that saves the listed words as a named slice."""
    with st.popover("Save these words", icon=":material/bookmark_add:"):
        draw_slice_form(partial(_save_words, workspace, change, rows, kept), bool(rows))


def _describe_frequency(change: NeighborhoodChange, before: str) -> str:
    if change.counts is not None:
        return f"occurrences in the text of {plain(change.counts_from)}"
    return (
        f"counts are not known, so the position in {plain(before)} stands for it: in a WordPiece"
        " vocabulary frequent words come first"
    )


def _save_words(
    workspace: Workspace,
    change: NeighborhoodChange,
    rows: list[int],
    kept: tuple[int, int],
    name: str,
) -> None:
    between = {
        "before": change.before.name,
        "after": change.after.name,
        "neighbors kept": f"{kept[0]} to {kept[1]}",
    }
    made = save_slice(workspace, name, [change.words[row] for row in rows], between)
    st.toast(
        f"Saved {count(len(rows))} words as {plain(made.name)}. A projection can be colored by it."
    )


def _take_selected(key: str, words: list[str]) -> None:
    rows = st.session_state[key]["selection"]["rows"]
    if rows and rows[0] < len(words):
        st.session_state[WORD] = words[rows[0]]


def draw_overlap_by_frequency(change: NeighborhoodChange, baseline: NoiseBaseline | None) -> None:
    """Draw the overlap of each word, and its mean by frequency, against the word's count."""
    draw_heading("Overlap by word frequency")
    if change.counts is None:
        st.markdown("Neither space has word counts.")
        return
    known = np.flatnonzero(change.counts > 0)
    counts = change.counts[known]
    overlap = change.overlap[known]
    lines = {"compared spaces": average_by_frequency(counts, overlap)}
    changed = np.zeros(len(known), dtype=bool)
    if baseline is not None:
        lines[figures.NOISE] = average_by_frequency(counts, baseline.overlap[known])
        changed = baseline.below[known]
    # Jitter: otherwise thousands of dots would coincide.
    jitter = np.random.default_rng(1).uniform(-0.3, 0.3, len(known)) / change.settings.k
    words = [change.words[row] for row in known]
    figure = figures.plot_overlap_by_frequency(counts, overlap + jitter, words, changed, lines)
    _, means = lines["compared spaces"]
    about = (
        f"{count(len(known))} of {count(len(change.words))} words have a count. The rarest keep"
        f" {percent(float(means[0]))} of their neighbors on average, the most frequent"
        f" {percent(float(means[-1]))}."
    )
    st.plotly_chart(
        figure,
        key="by_frequency",
        on_select=lambda: _take_point("by_frequency", words),
        selection_mode="points",
        config={"displayModeBar": False},
        alt=f"Fraction of neighbors kept by the frequency of the word. {about}",
    )
    draw_note(f"{about} Dots are jittered vertically; click one to see its word.")


def _take_point(key: str, words: Sequence[str]) -> None:
    points = st.session_state[key]["selection"]["points"]
    row = next((point.get("customdata") for point in points), None)
    if isinstance(row, list):
        row = next(iter(row), None)
    if isinstance(row, int) and 0 <= row < len(words):
        st.session_state[WORD] = words[row]
