"""Parts of the page Neighborhood change: figures, histogram, ranked list, and cards of a word."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.lab.workspace.slices import MAX_NAME_LENGTH, save_slice
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.spaces.neighbors.change import (
    AMONG,
    ChangeSettings,
    NeighborhoodChange,
    WordChange,
    count_by_overlap,
    estimate_change_seconds,
)
from vocadapt.spaces.neighbors.noise_baseline import NoiseBaseline, average_by_frequency
from vocadapt.ui.components import word_query
from vocadapt.ui.components.blocks import (
    draw_command,
    draw_downloads,
    draw_figure,
    draw_metrics,
    draw_note,
    draw_table,
    open_details,
    tsv,
)
from vocadapt.ui.components.markup import Card, draw_neighbor_cards, escape_invisible, plain
from vocadapt.ui.components.number_formats import count, format_estimate_bold, fraction, signed
from vocadapt.ui.components.setting_inputs import draw_setting
from vocadapt.ui.frame import cache, mistakes

AT_ONCE = 3.0  # seconds: a slower comparison starts on click
KINDS = {"special": "special tokens", "continuation": "continuations", "unused": "[unusedN]"}
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
    "among": (
        "Selects the candidate neighbors: words in both spaces, or all words of each space. With"
        " all words, a neighbor that only one space contains counts as changed."
    ),
    "kept": "Filters the histogram and the list below by the number of neighbors that a word keeps.",
}


def choose_settings(k: int = 10) -> ChangeSettings:
    """Draw the settings: number of neighbors, candidates, and excluded tokens."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        initial = ChangeSettings(k, without=("special", "unused"))
        k = draw_setting(st, initial, "k", "change_k", most=100, bind="query-params", width=140)
        among = st.segmented_control(
            "Among words",
            list(AMONG),
            default="shared",
            required=True,
            key="change_among",
            bind="query-params",
            help=HELP["among"],
        )
        without = draw_setting(
            st, initial, "without", "change_without", label="Exclude", bind="query-params"
        )
    return ChangeSettings(k, str(among or "shared"), without)


def compare(
    before: str,
    after: str,
    settings: ChangeSettings,
    baseline: tuple[Artifact, Artifact] | None,
    about: str,
) -> tuple[NeighborhoodChange, NoiseBaseline | None] | None:
    """Return the comparison and its noise baseline; None if it is slow and not yet requested by a
    click.
    """
    # 1. The estimated time; the noise baseline is a second comparison of the same size.
    first, second = cache.open_named_space(before), cache.open_named_space(after)
    seconds = estimate_change_seconds(first.space, second.space, settings)
    if baseline:
        seconds *= 2
    # 2. A slow comparison waits for a click, once for the same spaces and settings.
    stamps = tuple(one.stamp for one in baseline or ())
    key = (cache.space_stamp(before), cache.space_stamp(after), settings, stamps)
    done = st.session_state.setdefault("changes_requested", set())
    if seconds > AT_ONCE and key not in done:
        with st.container(border=True):
            st.markdown(
                "Compares every word with every other in both spaces: about"
                f" {format_estimate_bold(seconds)}."
            )
            if st.button(
                "Compare neighbors",
                type="primary",
                icon=":material/compare_arrows:",
                key="compare",
            ):
                done.add(key)
                st.rerun()
        return None
    return cache.change_of(first, second, settings, baseline, about)


def draw_headline(change: NeighborhoodChange, baseline: NoiseBaseline | None) -> None:
    """Draw the figures of the comparison."""
    # 1. The figures, compared with the noise baseline if there is one.
    before, after = map(count, change.sizes)
    compared = f"of {count(change.shared)} shared · {before} and {after} words"
    against, fraction_changed, noise = None, "–", None
    if baseline is not None:
        difference = signed(change.mean - baseline.mean)
        against = f"{difference} vs {fraction(baseline.mean)} in the noise baseline"
        fraction_changed = fraction(baseline.fraction_below)
        noise = f"noise alone: {fraction(baseline.baseline_fraction_below)}"
    draw_metrics(
        ("Words compared", count(len(change.words)), compared, HELP["compared"]),
        (f"Mean overlap@{change.settings.k}", fraction(change.mean), against, HELP["mean"]),
        ("Chance", fraction(change.chance), None, HELP["chance"]),
        ("Changed", fraction_changed, noise, HELP["changed"]),
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


@st.fragment
def draw_charts_and_list(
    workspace: Workspace, change: NeighborhoodChange, baseline: NoiseBaseline | None
) -> None:
    """Draw the histogram, the ranked list, the neighbors of one word, and overlap by frequency."""
    left, right = st.columns([1, 1.4], gap="large")
    with left:
        st.subheader("Most changed words")
        histogram = st.container()  # drawn above the slider on which it depends
        kept_range = _choose_range(change.settings.k)
        # The same histogram for the noise baseline, to compare with.
        noise = None
        if baseline is not None:
            noise = count_by_overlap(baseline.overlap, change.settings.k)
        with histogram:
            draw_figure(
                figures.plot_overlap_histogram(change.histogram, noise, kept_range), "overlaps"
            )
        rows = select_rows(change, kept_range)
        _draw_ranked_list(change, baseline, rows, kept_range)
        _save_slice_form(workspace, change, rows, kept_range)
    with right:
        _draw_word(change, baseline, select_examples(change, rows))
    _draw_overlap_by_frequency(change, baseline)


def select_rows(change: NeighborhoodChange, kept_range: tuple[int, int]) -> list[int]:
    """Return the rows of the words that keep a number of neighbors in the range, most changed
    first.
    """
    # An overlap is a multiple of 1/k in floating point: rounding recovers the number of neighbors.
    numbers = np.rint(change.overlap * change.settings.k).astype(int)
    return [row for row in change.order.tolist() if kept_range[0] <= numbers[row] <= kept_range[1]]


def select_examples(change: NeighborhoodChange, rows: Sequence[int]) -> list[str]:
    """Return example words: frequent longer ones among the most changed fifth."""
    # Frequent words are the ones a reader knows.
    most_changed = rows[: max(len(rows) // 5, 200)]
    if change.counts is not None:
        counts = change.counts
        most_changed = sorted(most_changed, key=lambda row: int(counts[row]), reverse=True)
    words = [change.words[row] for row in most_changed]
    return [word for word in words if len(word) > 4 and word.isalpha()][: word_query.EXAMPLES]


def build_three_cards(found: WordChange, names: tuple[str, str]) -> list[Card]:
    """Build three cards: neighbors only before, in both, only after."""
    before, after = map(escape_invisible, names)
    both = [(word, (one + two) / 2) for word, one, two in found.both]
    return [
        Card("Only before", before, "neutral", found.only_before, empty="none"),
        Card("In both", "mean of both cosines", "good", both, empty="none"),
        Card("Only after", after, "changed", found.only_after, empty="none"),
    ]


def draw_details(
    change: NeighborhoodChange,
    baseline: NoiseBaseline | None,
    before: str,
    after: str,
    pair: tuple[Artifact, Artifact] | None,
) -> None:
    """Draw the folded block: the command, the definitions, and the list of all words as a file."""
    settings = change.settings
    command = ["change", "--before", before, "--after", after, "-k", str(settings.k)]
    if settings.among != "shared":
        command += ["--among", settings.among]
    for name in settings.without:
        command += ["--without", name]
    if pair:
        command += ["--noise-baseline", *(str(one.folder) for one in pair)]
    with open_details():
        draw_command(command, "The same in a terminal")
        st.markdown(
            "Neighbors are ranked by cosine in the original spaces, without projection or"
            f" alignment, among {AMONG[settings.among]}. Words with a zero vector are excluded. A"
            " word counts as changed if its overlap is below the 5 % quantile of the noise"
            " baseline among words of similar frequency."
        )
        if baseline is not None:
            st.text(
                f"Noise baseline: {baseline.about} ({baseline.names[0]}; {baseline.names[1]}),"
                f" {baseline.bands} frequency bands"
            )
        draw_downloads({"changes.tsv": lambda: format_word_list(change, baseline)})


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


def _choose_range(k: int) -> tuple[int, int]:
    """Draw the range slider of the number of neighbors kept; it is reset if k changes."""
    # Streamlit raises an error if the held value of a slider exceeds its new maximum.
    held = st.session_state.get("change_kept")
    if st.session_state.get("change_kept_k", k) != k or (held is not None and max(held) > k):
        st.session_state.pop("change_kept", None)
        held = None
    st.session_state["change_kept_k"] = k
    chosen = st.slider(
        f"Neighbors kept, of {k}",
        0,
        k,
        held or (0, k),
        key="change_kept",
        bind="query-params",
        help=HELP["kept"],
    )
    return int(chosen[0]), int(chosen[1])


def _draw_overlap_by_frequency(change: NeighborhoodChange, baseline: NoiseBaseline | None) -> None:
    """Draw the overlap of each word, and its mean by frequency, against the word's count."""
    st.subheader("Overlap by word frequency")
    if change.counts is None:
        st.markdown("Neither space has word counts.")
        return
    lines = {"compared spaces": average_by_frequency(change.counts, change.overlap)}
    changed = np.zeros(len(change.words), dtype=bool)
    if baseline is not None:
        lines[figures.NOISE] = average_by_frequency(change.counts, baseline.overlap)
        changed = baseline.below
    # Jitter: otherwise thousands of dots would coincide.
    jitter = np.random.default_rng(1).uniform(-0.3, 0.3, len(change.words)) / change.settings.k
    figure = figures.plot_overlap_by_frequency(
        change.counts, change.overlap + jitter, change.words, changed, lines
    )
    draw_figure(figure, "by_frequency")
    draw_note("Overlaps are multiples of 1/k; the dots are jittered vertically.")


def _draw_ranked_list(
    change: NeighborhoodChange,
    baseline: NoiseBaseline | None,
    rows: list[int],
    kept_range: tuple[int, int],
) -> None:
    """Draw the ranked list; selecting a row searches for its word."""
    ties = "most frequent first"
    if change.counts is None:
        ties = "alphabetical, since counts are unknown"
    draw_note(
        f"{count(len(rows))} of {count(len(change.words))} words keep {kept_range[0]} to {kept_range[1]}"
        f" neighbors; ties: {ties}"
    )
    chosen = np.array(rows, dtype=np.int64)
    words = [change.words[row] for row in rows]
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
    # Another range lists other words: a new key clears the selected row.
    key = f"ranked_{kept_range[0]}_{kept_range[1]}"
    draw_table(
        columns,
        height=300,
        key=key,
        on_select=lambda: _take_selected(key, words),
        selection_mode="single-row",
        column_config={
            "word": st.column_config.TextColumn(),
            "overlap": st.column_config.ProgressColumn(min_value=0, max_value=1, format="%.2f"),
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
        },
    )


def _save_slice_form(
    workspace: Workspace, change: NeighborhoodChange, rows: list[int], kept_range: tuple[int, int]
) -> None:
    """Draw the form that saves the listed words as a named slice."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(
            "Slice name",
            key="slice_name",
            placeholder="name",
            max_chars=MAX_NAME_LENGTH,
        )
        if st.button(
            "Save slice",
            icon=":material/bookmark_add:",
            key="save_slice",
            disabled=not (name.strip() and rows),
        ):
            between = {
                "before": change.before.name,
                "after": change.after.name,
                "neighbors kept": f"{kept_range[0]} to {kept_range[1]}",
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
        st.session_state["change_word"] = words[rows[0]]


def _draw_word(
    change: NeighborhoodChange, baseline: NoiseBaseline | None, examples: list[str]
) -> None:
    """Draw the three cards of the searched word."""
    word = word_query.draw_word_input(
        "change_word", "Select or type a word", examples, change.index
    )
    if not word:
        return
    with mistakes.show_errors():
        found = change.word(word)
        draw_neighbor_cards(build_three_cards(found, (change.before.name, change.after.name)))
        row = change.index[word]
        notes = [f"**{plain(word)}** keeps **{len(found.both)} of {change.settings.k}** neighbors"]
        if change.counts is not None:
            notes.append(f"{count(int(change.counts[row]))} occurrences")
        if baseline is not None:
            verdict = ":violet[**changed**]" if baseline.below[row] else "within noise"
            notes.append(f"{fraction(baseline.overlap[row])} in the noise baseline")
            notes.append(f"quantile {fraction(baseline.quantile[row])}: {verdict}")
        st.markdown(f":small[{' · '.join(notes)}]")
