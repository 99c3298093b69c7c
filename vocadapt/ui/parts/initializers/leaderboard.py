"""Leaderboard of the page Initializers: the comparison of a transfer, and the form that starts one."""

from dataclasses import replace
from pathlib import Path

import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.analysis.leaderboard.leaderboard import LeaderboardSettings
from vocadapt.lab.inputs.corpora import list_texts
from vocadapt.lab.steps.command_lines import build_artifact_command
from vocadapt.lab.steps.initializers import InitializerComparison, InitializersStep, load_comparison
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.report.csv_files import write_csv
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import (
    draw_command,
    draw_downloads,
    draw_figure,
    draw_heading,
    draw_note,
    open_details,
)
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.setting_inputs import draw_linked_setting, draw_settings
from vocadapt.ui.components.tables import draw_report
from vocadapt.ui.jobs import forms
from vocadapt.ui.parts.initializers.view import Transfer, draw_explanations, draw_own_settings
from vocadapt.ui.text.markup import format_sentence, plain
from vocadapt.ui.text.number_formats import count, fraction
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS

NO_TEXT = "none"
# Settings with an input of their own, or without a flag.
DRAWN = ("held_out", "seed", "norm_matched", "methods", "options", "neighbors")


def draw_leaderboard(workspace: Workspace, transfer: Transfer) -> None:
    """Draw a comparison of initializers for this transfer, and the form that starts another one."""
    draw_heading("Initializers before training")
    st.markdown(
        "Some common tokens are *held out*: they are initialized as if the model lacked them, and"
        " compared with their true embeddings. *Baselines* ignore the token (mean or random"
        " embedding): an initializer that is not better than them is useless."
    )
    # 1. A saved comparison, with its files.
    made = list_boards(workspace, transfer)
    if made:
        board = pickers.pick("Comparison", made, "initializers_board", newest=True)
        pickers.warn_if_stale(board, workspace)
        compared = load_comparison(board.folder)
        _draw_standings(compared)
        table = compared.build_table()
        with open_details():
            draw_command(build_artifact_command(board), "The same comparison in a terminal")
            draw_downloads(
                {
                    "leaderboard.csv": lambda: write_csv([table]),
                    "leaderboard.json": lambda: strict_json.dumps(compared, indent=1),
                }
            )
    # 2. The form, folded if there is a comparison.
    with st.expander("Compare initializers", icon=":material/replay:", expanded=not made):
        _draw_form(workspace, transfer)


def list_boards(workspace: Workspace, transfer: Transfer) -> list[Artifact]:
    """Return the leaderboards of these inputs, newest first."""
    inputs = {role: Path(path).resolve() for role, path in transfer.inputs.items()}
    boards = []
    for board in workspace.artifacts("initializers"):
        paths = {role: given.paths[0] for role, given in board.manifest.inputs.items()}
        paths.pop("held_out", None)  # the text for the masked loss
        if {role: (workspace.root / path).resolve() for role, path in paths.items()} == inputs:
            boards.append(board)
    return boards


@st.fragment
@mistakes.show_errors()
def _draw_form(workspace: Workspace, transfer: Transfer) -> None:
    """Draw the form of a new comparison; a setting reruns only this fragment."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        # 1. What is held out.
        kind = LeaderboardSettings
        hidden = draw_linked_setting(kind, "held_out", "initializers_hidden", step=100)
        seed = draw_linked_setting(kind, "seed", "initializers_seed")
        matched = draw_linked_setting(kind, "norm_matched", "initializers_matched", toggle=True)
        # 2. The initializers to compare, and the settings of those that are selected.
        with st.popover("More settings", icon=":material/tune:"):
            settings = LeaderboardSettings(held_out=hidden, seed=seed, norm_matched=matched)
            settings = draw_settings(settings, "initializers", DRAWN)
    compared = st.multiselect(
        "Initializers to compare",
        settings.methods_to_compare,
        key="initializers_compared",
        placeholder=f"All {count(len(settings.methods_to_compare))}",
        bind="query-params",
        help=explain(
            "Initializers to compare",
            "Selects what is compared, each with its own settings. Empty: all of them.",
        ),
    )
    own = draw_own_settings({}, compared, "initializers")
    settings = replace(settings, methods=tuple(compared), options=own)
    corpora = {corpus.name: str(corpus.folder) for corpus in list_texts(workspace)}
    text = st.selectbox(
        "Held-out text",
        [NO_TEXT, *corpora],
        key="initializers_loss_text",
        help=explain(
            "Held-out text",
            "Selects a text for the masked loss and for the sentences that the network reads."
            " Without one, sentences come from the text of the word vectors, and there is no masked"
            " loss.",
        ),
    )
    # 3. The button.
    inputs = dict(transfer.inputs)
    if text in corpora:
        inputs["held_out"] = corpora[text]
        draw_note("The masked loss reads the text once for each initializer.")
    spec = Spec(InitializersStep(settings), {role: (path,) for role, path in inputs.items()})
    wish = Path(inputs.get("vectors") or inputs["target"]).stem
    forms.draw_start(workspace, spec, wish, "Compare initializers", "compare", "initializers_name")


def _draw_standings(compared: InitializerComparison) -> None:
    """Draw the verdict, the chart and the table, with sample sizes and chance levels."""
    board = compared.board
    reading = plain(board.reading.sentence) if board.reading else ""
    st.markdown(f"**{plain(board.verdict.sentence)}** {reading}")
    # 1. The chart; whiskers are two standard errors.
    figure = figures.plot_leaderboard(
        [row.initializer for row in board.rows],
        [row.centered_cosine for row in board.rows],
        [2 * row.standard_error for row in board.rows],
        [row.is_baseline for row in board.rows],
    )
    scores = [f"{row.initializer} {fraction(row.centered_cosine)}" for row in board.rows]
    draw_figure(figure, "board", f"Centered cosine of each initializer: {', '.join(scores)}.")
    # 2. The table.
    table = compared.build_table()
    draw_report(table, "standings")
    draw_explanations([row.initializer for row in board.rows if row.initializer in INITIALIZERS])
    for note in (*table.notes, "Whiskers: ± 2 standard errors."):
        draw_note(format_sentence(note))
