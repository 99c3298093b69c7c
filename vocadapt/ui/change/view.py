"""Parts of the page Neighborhood change: figures, histogram, ranked list, and cards of a word."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.errors import InputError
from vocadapt.lab.steps.command_lines import build_arguments
from vocadapt.lab.workspace.slices import MAX_NAME_LENGTH, save_slice
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.neighbors.change import (
    AMONG,
    RANKINGS,
    NeighborhoodChange,
    WordChange,
    count_by_overlap,
)
from vocadapt.spaces.neighbors.noise_baseline import NoiseBaseline, average_by_frequency
from vocadapt.spaces.neighbors.search import find_nearest
from vocadapt.ui.change import comparisons, noise_baseline
from vocadapt.ui.change.comparisons import ShownComparison
from vocadapt.ui.components import word_links, word_query
from vocadapt.ui.components.blocks import (
    draw_artifact_details,
    draw_command,
    draw_downloads,
    draw_metrics,
    draw_note,
    draw_table,
    open_details,
    tsv,
)
from vocadapt.ui.components.markup import Card, draw_neighbor_cards, escape_invisible, plain
from vocadapt.ui.components.number_formats import count, fraction, signed
from vocadapt.ui.frame import cache, mistakes

WORD, KEPT = "change_word", "change_kept"
LISTED = 1_000  # words of the list
KINDS = {
    "special": "special tokens",
    "continuation": "continuations",
    "unused": "[unusedN]",
    "punctuation": "punctuation marks",
    "number": "numbers",
}
HELP = {
    "compared": "Number of words that both spaces contain, without excluded words.",
    "mean": (
        "Mean fraction of a word's k nearest neighbors in one space that are among its k"
        " nearest in the other."
    ),
    "chance": "Expected overlap of two unrelated spaces.",
    "changed": (
        "Fraction of words that keep fewer neighbors than 95 % of the words of similar"
        " frequency in the noise baseline."
    ),
    "other": "Fraction of words that lose at least one of their nearest neighbors.",
    "kept": "Filters the list by the number of neighbors that a word keeps.",
    "order": (
        "Selects the order of the list. Change × frequency: the fraction of lost neighbors times the"
        " logarithm of the word's frequency, so that well-known words come first."
    ),
}


def draw_comparison(workspace: Workspace, shown: ShownComparison) -> None:
    """Draw a comparison: figures, noise baseline, ranked words, and the neighbors of one word."""
    change, baseline = shown.found.change, shown.found.baseline
    # 1. The figures, and what they are compared with.
    _draw_headline(change, baseline)
    about = noise_baseline.explain_baseline(shown.found)
    if about:
        draw_note(about)
    else:
        spec = noise_baseline.offer_baseline(workspace, shown.spec)
        if spec is not None:
            comparisons.start(workspace, spec)
    # 2. The words.
    _draw_words(workspace, shown)
    _draw_details(shown)


def _draw_headline(change: NeighborhoodChange, baseline: NoiseBaseline | None) -> None:
    """Draw the figures of the comparison."""
    # 1. The figures, compared with the noise baseline if there is one.
    settings = change.settings
    st.markdown(
        f"**{plain(change.before.name)}** → **{plain(change.after.name)}** :small[:gray["
        f"{settings.k} nearest neighbors among {AMONG[settings.among]}]]"
    )
    compared = f"of {count(change.shared)} in both"
    against = None
    unchanged = int(change.histogram[-1])
    other = 1 - unchanged / len(change.words)
    last = (
        "With other neighbors",
        fraction(other),
        f"{count(unchanged)} words keep all",
        HELP["other"],
    )
    if baseline is not None:
        difference = signed(change.mean - baseline.mean)
        against = f"{difference} vs {fraction(baseline.mean)} in the noise baseline"
        noise = f"noise alone: {fraction(baseline.baseline_fraction_below)}"
        last = ("Changed", fraction(baseline.fraction_below), noise, HELP["changed"])
    draw_metrics(
        ("Words compared", count(len(change.words)), compared, HELP["compared"]),
        (f"Mean overlap@{settings.k}", fraction(change.mean), against, HELP["mean"]),
        ("Chance", _format_chance(change.chance), None, HELP["chance"]),
        last,
    )
    # 2. The excluded words, and a warning if the noise baseline is invalid.
    if change.left_out:
        excluded = " · ".join(
            f"{count(number)} {KINDS.get(reason, reason)}"
            for reason, number in change.left_out.items()
        )
        draw_note(f"Not compared: {plain(excluded)}")
    if baseline is not None and baseline.same:
        st.warning(
            "The two spaces of the noise baseline are identical, so it does not measure noise.",
            icon=":material/content_copy:",
        )


def _format_chance(chance: float) -> str:
    """Format a small chance as 1 in n."""
    if 0 < chance < 0.01:
        return f"1 in {count(round(1 / chance))}"
    return fraction(chance)


@st.fragment
def _draw_words(workspace: Workspace, shown: ShownComparison) -> None:
    """Draw the histogram, the ranked list, the neighbors of one word, and overlap by frequency; a
    click reruns only this fragment.
    """
    change, baseline = shown.found.change, shown.found.baseline
    word_links.listen(WORD)
    # 1. The histogram, with the range of neighbors kept, and the list of the words in it.
    st.subheader("Most changed words")
    left, right = st.columns([1, 1.3], gap="large")
    with left:
        histogram = st.container()  # drawn above the slider on which it depends
        kept = _choose_range(change.settings.k)
        with histogram:
            _draw_histogram(change, baseline, kept)
    with right:
        rows = _draw_ranked_list(change, baseline, kept)
        _save_slice_form(workspace, change, rows, kept)
    # 2. The neighbors of one word.
    _draw_word(shown, select_examples(change, rows))
    # 3. All words by frequency.
    _draw_overlap_by_frequency(change, baseline)


def _draw_histogram(
    change: NeighborhoodChange, baseline: NoiseBaseline | None, kept: tuple[int, int]
) -> None:
    """Draw the histogram of neighbors kept; bars can be clicked, and a range of them dragged over."""
    k = change.settings.k
    noise = None
    if baseline is not None:
        noise = count_by_overlap(baseline.overlap, k)
    # A new key clears the selection in the browser: the slider has set another range.
    key = f"overlaps_{k}_{st.session_state.get('change_range', 0)}"
    st.plotly_chart(
        figures.plot_overlap_histogram(change.histogram, noise, kept),
        key=key,
        on_select=lambda: _take_brush(key, k),
        selection_mode=("points", "box"),
        config={"displayModeBar": False},
    )
    draw_note(describe_histogram(change))


def describe_histogram(change: NeighborhoodChange) -> str:
    """Return the histogram in words: the median, and how many words keep none and all neighbors."""
    k, words = change.settings.k, len(change.words)
    median = float(np.median(np.rint(change.overlap * k)))
    none, all_kept = int(change.histogram[0]), int(change.histogram[-1])
    return (
        f"Half of the words keep at most {median:g} of {k} neighbors; {count(none)} of"
        f" {count(words)} keep none, {count(all_kept)} keep all. Click a bar or drag over several to"
        " list their words."
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
    if not found:
        return None
    return min(found), max(found)


def _take_brush(key: str, k: int) -> None:
    """Callback: list the words of the selected bars; all words if the selection was cleared."""
    kept = read_range(st.session_state[key]["selection"]["points"], k)
    st.session_state[KEPT] = kept or (0, k)


def select_rows(
    change: NeighborhoodChange, kept: tuple[int, int], order: str = "change"
) -> list[int]:
    """Return the rows of the words that keep a number of neighbors in the range, in an order of
    RANKINGS.
    """
    # An overlap is a multiple of 1/k in floating point: rounding recovers the number of neighbors.
    numbers = np.rint(change.overlap * change.settings.k).astype(int)
    ranked = change.rank(order)
    listed: list[int] = ranked[(numbers[ranked] >= kept[0]) & (numbers[ranked] <= kept[1])].tolist()
    return listed


def select_examples(change: NeighborhoodChange, rows: Sequence[int]) -> list[str]:
    """Return example words: the first longer ones of the list."""
    words = [change.words[row] for row in rows[:LISTED]]
    return [word for word in words if len(word) > 4 and word.isalpha()][: word_query.EXAMPLES]


def build_three_cards(
    found: WordChange, names: tuple[str, str], before: frozenset[str] = frozenset()
) -> list[Card]:
    """Build the cards of the neighbors that a word lost, kept and gained.

    before: the candidates before; gained neighbors that are not among them are marked, unless it is
    empty.
    """
    both = [(word, (one + two) / 2) for word, one, two in found.both]
    new = frozenset[str]()
    if before:
        new = frozenset(word for word, _ in found.only_after) - before
    return [
        Card("Only before", names[0], "source", found.only_before, empty="none"),
        Card("In both", "mean of both cosines", "neutral", both, empty="none"),
        Card("Only after", names[1], "changed", found.only_after, new, empty="none"),
    ]


def format_word_list(change: NeighborhoodChange, baseline: NoiseBaseline | None) -> str:
    """Format every word as TSV: overlap, count, position in the noise baseline, and its neighbor
    lists.
    """
    rows: list[dict[str, object]] = []
    for row in change.order.tolist():
        found = change.word(change.words[row])
        cells: dict[str, object] = {"word": found.word, "overlap": found.overlap}
        if change.counts is not None:
            cells["occurrences"] = int(change.counts[row])
        if baseline:
            cells |= {
                "null overlap": baseline.overlap[row],
                "null quantile": baseline.quantile[row],
                "z": baseline.z[row],
                "changed": bool(baseline.below[row]),
            }
        lists: dict[str, Sequence[tuple[Any, ...]]] = {
            "only before": found.only_before,
            "both": found.both,
            "only after": found.only_after,
        }
        for name, neighbors in lists.items():
            cells[name] = " ".join(neighbor[0] for neighbor in neighbors)
        rows.append(cells)
    return tsv(tuple(rows[0]), [tuple(cells.values()) for cells in rows])


def _draw_details(shown: ShownComparison) -> None:
    """Draw the folded block: the command, the definitions, and the list of all words as a file."""
    change, baseline = shown.found.change, shown.found.baseline
    files = {"changes.tsv": lambda: format_word_list(change, baseline)}
    if shown.artifact is not None:
        draw_artifact_details(shown.artifact, files)
        return
    with open_details():
        draw_command(_build_command(shown), "The same in a terminal")
        st.markdown(
            "Neighbors are ranked by cosine in the original spaces, without projection or"
            f" alignment, among {AMONG[change.settings.among]}. Words with a zero vector are excluded."
            " A word counts as changed if its overlap is below the 5 % quantile of the noise"
            " baseline among words of similar frequency."
        )
        if baseline is not None:
            st.text(
                f"Noise baseline: {baseline.about} ({baseline.names[0]}; {baseline.names[1]}),"
                f" {baseline.bands} frequency bands"
            )
        draw_downloads(files)


def _build_command(shown: ShownComparison) -> str:
    """Return the command that prints the comparison, without writing it."""
    arguments = build_arguments(replace(shown.spec, offline=False), Path("."))
    return shlex.join(arguments[: arguments.index("--out")])


def _choose_range(k: int) -> tuple[int, int]:
    """Draw the range slider of the number of neighbors kept; it is reset if k changes."""
    # Streamlit raises an error if the held value of a slider exceeds its new maximum.
    held = st.session_state.get(KEPT)
    if st.session_state.get("change_kept_k", k) != k or (held is not None and max(held) > k):
        st.session_state.pop(KEPT, None)
        held = None
    st.session_state["change_kept_k"] = k
    chosen = st.slider(
        f"Neighbors kept, of {k}",
        0,
        k,
        held or (0, k),
        key=KEPT,
        bind="query-params",
        help=HELP["kept"],
        on_change=_clear_brush,
    )
    return int(chosen[0]), int(chosen[1])


def _clear_brush() -> None:
    """Callback: the slider has set a range, so the selection of bars no longer applies."""
    st.session_state["change_range"] = st.session_state.get("change_range", 0) + 1


def _draw_ranked_list(
    change: NeighborhoodChange, baseline: NoiseBaseline | None, kept: tuple[int, int]
) -> list[int]:
    """Draw the ranked list and its order; selecting a row searches for its word. Return the rows."""
    left, right = st.columns([1, 1.6], vertical_alignment="bottom")
    order = left.selectbox(
        "Order",
        list(RANKINGS),
        format_func=RANKINGS.__getitem__,
        key="change_order",
        bind="query-params",
        help=HELP["order"],
    )
    rows = select_rows(change, kept, str(order))
    note = f"**{count(len(rows))} of {count(len(change.words))}** words keep {kept[0]} to {kept[1]} neighbors"
    if len(rows) > LISTED:
        note += f"; the first {count(LISTED)} are listed"
    draw_note(note, right)
    chosen = np.array(rows[:LISTED], dtype=np.int64)
    words = [change.words[row] for row in chosen]
    columns: dict[str, object] = {
        "word": [escape_invisible(word) for word in words],
        "overlap": change.overlap[chosen],
    }
    if change.counts is not None:
        columns["occurrences"] = change.counts[chosen]
    if baseline is not None:
        columns |= {
            "noise baseline": baseline.overlap[chosen],
            "quantile": baseline.quantile[chosen],
            "changed": baseline.below[chosen],
        }
    # Another list has other words: a new key clears the selected row.
    key = f"ranked_{kept[0]}_{kept[1]}_{order}"
    draw_table(
        columns,
        height=230,
        key=key,
        on_select=lambda: _take_selected(key, words),
        selection_mode="single-row",
        column_config=COLUMNS,
    )
    draw_note(describe_frequency(change))
    return rows


def describe_frequency(change: NeighborhoodChange) -> str:
    """Return where the frequency of the words comes from."""
    if change.counts is not None:
        return f"Frequency: occurrences in the text of {plain(change.counts_from)}. Click a row to see its neighbors."
    return (
        f"Frequency: counts are not known, so the position in {plain(change.before.name)} stands for"
        " it: in a WordPiece vocabulary frequent words come first. Click a row to see its neighbors."
    )


COLUMNS = {
    "word": st.column_config.TextColumn(),
    "overlap": st.column_config.ProgressColumn(min_value=0, max_value=1, format="%.2f"),
    "occurrences": st.column_config.NumberColumn(format="localized"),
    "noise baseline": st.column_config.NumberColumn(
        format="%.2f",
        help="Overlap of this word between the two spaces of the noise baseline.",
    ),
    "quantile": st.column_config.NumberColumn(
        format="%.3f",
        help=(
            "Fraction of words of similar frequency that keep fewer neighbors in the"
            " noise baseline; ties count half."
        ),
    ),
}


def _save_slice_form(
    workspace: Workspace, change: NeighborhoodChange, rows: list[int], kept: tuple[int, int]
) -> None:
    """Draw the form that saves the listed words as a named slice."""
    with st.popover("Save these words", icon=":material/bookmark_add:"):
        name = st.text_input(
            "Slice name", key="slice_name", placeholder="name", max_chars=MAX_NAME_LENGTH
        )
        if st.button("Save slice", key="save_slice", disabled=not (name.strip() and rows)):
            between = {
                "before": change.before.name,
                "after": change.after.name,
                "neighbors kept": f"{kept[0]} to {kept[1]}",
            }
            made = save_slice(workspace, name, [change.words[row] for row in rows], between)
            st.toast(
                f"Saved {count(len(rows))} words as {plain(made.name)}. A projection can be colored"
                " by it."
            )


def _take_selected(key: str, words: list[str]) -> None:
    """Callback: search for the word of the selected row."""
    rows = st.session_state[key]["selection"]["rows"]
    if rows and rows[0] < len(words):
        st.session_state[WORD] = words[rows[0]]


def _take_point(key: str, words: Sequence[str]) -> None:
    """Callback: search for the word of the clicked point."""
    points = st.session_state[key]["selection"]["points"]
    row = next((point.get("customdata") for point in points), None)
    if isinstance(row, list):
        row = next(iter(row), None)
    if isinstance(row, int) and 0 <= row < len(words):
        st.session_state[WORD] = words[row]


def _draw_word(shown: ShownComparison, examples: list[str]) -> None:
    """Draw the three cards of the searched word."""
    change, baseline = shown.found.change, shown.found.baseline
    word = word_query.draw_word_input(WORD, "Select or type a word", examples, change.index)
    if not word:
        return
    with mistakes.show_errors():
        found = _find_word(shown, word)
        names, before = (change.before.name, change.after.name), frozenset[str]()
        if change.settings.among == "all":
            before = frozenset(change.before.words)
        cards = build_three_cards(found, names, before)
        draw_neighbor_cards(cards, word_links.build_links(WORD))
        n_new = len(cards[-1].shared)
        row = change.index.get(word)
        if row is None:
            draw_note(
                f"**{plain(word)}** is only in {plain(change.after.name)}: it has no neighbors before."
            )
            return
        notes = [f"**{plain(word)}** keeps **{len(found.both)} of {change.settings.k}** neighbors"]
        if n_new:
            notes.append(f":green[**underlined**]: {n_new} that {plain(change.before.name)} lacks")
        if change.counts is not None:
            notes.append(f"{count(int(change.counts[row]))} occurrences")
        if baseline is not None:
            verdict = ":violet[**changed**]" if baseline.below[row] else "within noise"
            notes.append(f"{fraction(baseline.overlap[row])} in the noise baseline")
            notes.append(f"quantile {fraction(baseline.quantile[row])}: {verdict}")
        st.markdown(f":small[{' · '.join(notes)}]")


def _find_word(shown: ShownComparison, word: str) -> WordChange:
    """Return the neighbors of a word before and after; of a word that only the space after has, those
    after.

    Raises InputError if the word is in neither list of candidates.
    """
    change = shown.found.change
    is_new = word not in change.index and word not in change.before.words
    if not is_new or word not in change.after.words:
        return change.word(word)
    space = cache.open_named_space(shown.spec.inputs["after"][0]).space
    if any(candidate not in space for candidate in (word, *change.after.words)):
        raise InputError(
            f"{change.after.name} has changed since it was compared.", "Compare the spaces again."
        )
    candidates = space.take(space.rows(change.after.words))
    own = candidates.rows([word])
    near = find_nearest(candidates.matrix[own], candidates, change.settings.k, leave_out=own)
    found = zip(near.rows[0].tolist(), near.scores[0].tolist(), strict=True)
    gained = tuple((candidates.words[other], float(cosine)) for other, cosine in found)
    return WordChange(word, 0.0, (), (), gained)


def _draw_overlap_by_frequency(change: NeighborhoodChange, baseline: NoiseBaseline | None) -> None:
    """Draw the overlap of each word, and its mean by frequency, against the word's count."""
    st.subheader("Overlap by word frequency")
    if change.counts is None:
        st.markdown("Neither space has word counts.")
        return
    known = np.flatnonzero(change.counts > 0)
    counts, overlap = change.counts[known], change.overlap[known]
    lines = {"compared spaces": average_by_frequency(counts, overlap)}
    changed = np.zeros(len(known), dtype=bool)
    if baseline is not None:
        lines[figures.NOISE] = average_by_frequency(counts, baseline.overlap[known])
        changed = baseline.below[known]
    # Jitter: otherwise thousands of dots would coincide.
    jitter = np.random.default_rng(1).uniform(-0.3, 0.3, len(known)) / change.settings.k
    words = [change.words[row] for row in known]
    figure = figures.plot_overlap_by_frequency(counts, overlap + jitter, words, changed, lines)
    key = "by_frequency"
    st.plotly_chart(
        figure,
        key=key,
        on_select=lambda: _take_point(key, words),
        selection_mode="points",
        config={"displayModeBar": False},
    )
    _, means = lines["compared spaces"]
    draw_note(
        f"{count(len(known))} of {count(len(change.words))} words have a count. The rarest keep"
        f" {fraction(float(means[0]))} of their neighbors on average, the most frequent"
        f" {fraction(float(means[-1]))}. Dots are jittered vertically; click one to see its word."
    )
