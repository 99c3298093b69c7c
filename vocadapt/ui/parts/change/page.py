"""The part Neighborhood change: words whose nearest neighbors differ between two spaces, compared
with a noise baseline.
"""

import shlex
from dataclasses import replace
from pathlib import Path

import streamlit as st

from vocadapt.lab.steps.command_lines import build_arguments
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.csv_files import write_csv
from vocadapt.spaces.neighbors.change import AMONG, NeighborhoodChange
from vocadapt.spaces.neighbors.change_report import build_neighbor_table, describe_baseline
from vocadapt.spaces.neighbors.noise_baseline import NoiseBaseline
from vocadapt.ui.components import mistakes, pickers, word_links
from vocadapt.ui.components.blocks import (
    draw_artifact_details,
    draw_command,
    draw_downloads,
    draw_heading,
    draw_metrics,
    draw_note,
    open_details,
)
from vocadapt.ui.parts.change import comparisons, neighbors, word_list
from vocadapt.ui.parts.change.comparisons import ShownComparison
from vocadapt.ui.parts.vectors import contextual
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import chance, count, fraction, percent, signed

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
}


def draw(workspace: Workspace) -> None:
    """Draw a comparison of two spaces, and the form of contextual vectors."""
    # 1. A finished comparison, or a new one of two spaces.
    with mistakes.show_errors():
        saved = comparisons.pick_saved(workspace)
        if saved is not None:
            draw_comparison(workspace, comparisons.open_saved(workspace, saved))
        else:
            _draw_new(workspace)
    # 2. The form of contextual vectors, which are more spaces to compare.
    contextual.draw_form(workspace)


@st.fragment
@mistakes.show_errors()
def _draw_new(workspace: Workspace) -> None:
    """Draw the pickers of two spaces and their comparison; a setting reruns only this fragment."""
    spec = comparisons.choose_new(workspace)
    if spec is None:
        pickers.draw_empty_state(
            "There are not yet two spaces to compare.",
            (
                "Make word vectors or adapt a model, or select any two models above: a folder on"
                " this machine, or a hub name that was used here before."
            ),
            "vectors",
        )
        return
    shown = comparisons.compare(workspace, spec)
    if shown is not None:
        draw_comparison(workspace, shown)


def draw_comparison(workspace: Workspace, shown: ShownComparison) -> None:
    """Draw a comparison: figures, noise baseline, ranked words, and the neighbors of one word."""
    # 1. The words, that of the best card first, and the figures.
    _draw_words(workspace, shown)
    # 2. What the figures are compared with.
    comparisons.draw_baseline(workspace, shown)
    _draw_details(shown)


def _draw_headline(change: NeighborhoodChange, baseline: NoiseBaseline | None) -> None:
    # 1. The figures, compared with the noise baseline if there is one.
    compared = f"of {count(change.shared)} in both"
    against = None
    unchanged = int(change.histogram[-1])
    last = (
        "Different neighbors",
        percent(1 - unchanged / len(change.words)),
        f"{count(unchanged)} words keep all",
        HELP["other"],
    )
    if baseline is not None:
        difference = signed(change.mean - baseline.mean)
        against = f"{difference} vs {fraction(baseline.mean)} in the noise baseline"
        noise = f"noise alone: {percent(baseline.baseline_fraction_below)}"
        last = ("Changed", percent(baseline.fraction_below), noise, HELP["changed"])
    draw_metrics(
        ("Words compared", count(len(change.words)), compared, HELP["compared"]),
        (f"Mean overlap@{change.settings.k}", fraction(change.mean), against, HELP["mean"]),
        ("Chance", chance(change.chance), None, HELP["chance"]),
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
        st.warning(str(describe_baseline(change, baseline)), icon=":material/content_copy:")


@st.fragment
def _draw_words(workspace: Workspace, shown: ShownComparison) -> None:
    """Draw the neighbors of one word, the figures, and the words by change and by frequency."""
    change, baseline = shown.found.change, shown.found.baseline
    names = comparisons.name_spaces(shown)
    word_links.listen(word_list.WORD)
    st.markdown(
        f"**{plain(names[0])}** → **{plain(names[1])}** :small[:gray["
        f"{change.settings.k} nearest neighbors among {AMONG[change.settings.among]}]]"
    )
    card = st.container()  # drawn above the list from which its examples come
    _draw_headline(change, baseline)
    # 1. The histogram, with the range of neighbors kept, and the list of the words in it.
    draw_heading("Most changed words")
    with st.container(key="va_stacked_change"):
        left, right = st.columns([1, 1.3], gap="large")
    with left:
        histogram = st.container()  # drawn above the slider on which it depends
        kept = word_list.choose_range(change.settings.k)
        with histogram:
            word_list.draw_histogram(change, baseline, kept)
    with right:
        rows = word_list.draw_ranked_list(change, baseline, kept, names[0])
        word_list.offer_slice(workspace, change, rows, kept)
    # 2. The neighbors of one word, at first of the one that changed most convincingly.
    with card:
        neighbors.draw_word(shown, neighbors.select_examples(change, rows))
    # 3. All words by frequency.
    word_list.draw_overlap_by_frequency(change, baseline)


def _draw_details(shown: ShownComparison) -> None:
    """Draw the folded block: the command, the definitions, and the list of all words as a file."""
    change, baseline = shown.found.change, shown.found.baseline
    files = {"changes.csv": lambda: write_csv([build_neighbor_table(change, baseline)])}
    if shown.artifact is not None:
        draw_artifact_details(shown.artifact, files)
        return
    with open_details():
        # The command prints the comparison, without writing it.
        arguments = build_arguments(replace(shown.spec, offline=False), Path("."))
        command = shlex.join(arguments[: arguments.index("--out")])
        draw_command(command, "The same in a terminal")
        st.markdown(
            "Neighbors are ranked by cosine in the original spaces, without projection or"
            f" alignment, among {AMONG[change.settings.among]}. Words with a zero vector are"
            " excluded."
            " A word counts as changed if its overlap is below the 5 % quantile of the noise"
            " baseline among words of similar frequency."
        )
        if baseline is not None:
            st.text(
                f"Noise baseline: {baseline.about} ({baseline.names[0]}; {baseline.names[1]}),"
                f" {baseline.bands} frequency bands"
            )
        draw_downloads(files)
