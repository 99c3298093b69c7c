"""Leaderboard of the page Initializers: the comparison of a transfer, and the form that starts one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.analysis.leaderboard.leaderboard import (
    LeaderboardSettings,
    estimate_leaderboard_seconds,
)
from vocadapt.lab.artifacts.corpora import list_texts
from vocadapt.lab.jobs.estimates import estimate_job_seconds
from vocadapt.lab.steps.command_lines import build_artifact_command
from vocadapt.lab.steps.compare_initializers import InitializerComparison, LeaderboardStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import (
    draw_command,
    draw_downloads,
    draw_figure,
    draw_heading,
    draw_note,
    draw_table,
    open_details,
    tsv,
)
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import chance, count, format_estimate, fraction
from vocadapt.ui.components.setting_inputs import draw_setting
from vocadapt.ui.frame import cache, mistakes
from vocadapt.ui.initializers.view import Transfer, draw_explanations, draw_own_settings
from vocadapt.ui.jobs import panel
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS, InitializerSettings

MEANS = ("centered cosine", "P@1", "MRR", "norm ratio", "masked loss")
NO_TEXT = "none"
HELP = {
    "centered cosine": (
        "Cosine of the initialized and the true embedding, both mean-centered. 1: same"
        " direction; 0: orthogonal."
    ),
    "P@1": (
        "Fraction of held-out tokens whose true embedding is the nearest to the initialized one."
    ),
    "MRR": "Mean reciprocal rank of the true embedding. 1: always first.",
    "median rank": "Median rank of the true embedding among all candidates.",
    "norm ratio": "Norm of the new embeddings relative to the model's own.",
    "kept": (
        "Fraction of a token's nearest neighbors in the target that are also neighbors of its"
        " new embedding in the model."
    ),
    "masked loss": (
        "Masked-language-model loss in nats per character on an unseen text; lower is better."
        " Requires a model with a masked-language-model head."
    ),
    "fallbacks": (
        "Number of tokens that the initializer could not handle; a fallback initialized them."
    ),
}


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
        compared = cache.comparison_of(board)
        _draw_standings(compared)
        rows = [row.to_dict() for row in compared.board.rows]
        with open_details():
            draw_command(build_artifact_command(board), "The same comparison in a terminal")
            draw_downloads(
                {
                    "leaderboard.tsv": lambda: tsv(
                        tuple(rows[0]), [tuple(row.values()) for row in rows]
                    ),
                    "leaderboard.json": lambda: json.dumps(compared.to_dict(), indent=1),
                }
            )
    # 2. The form, folded if there is a comparison.
    place = st.container()
    if made:
        place = st.expander("Compare again", icon=":material/replay:")
    with place:
        _draw_form(workspace, transfer)


def list_boards(workspace: Workspace, transfer: Transfer) -> list[Artifact]:
    """Return the leaderboards of these inputs, newest first."""
    inputs = {role: Path(path).resolve() for role, path in transfer.inputs.items()}
    boards = []
    for board in workspace.artifacts("leaderboards"):
        paths = {role: given.paths[0] for role, given in board.manifest.inputs.items()}
        paths.pop("held_out", None)  # the text for the masked loss
        if {role: (workspace.root / path).resolve() for role, path in paths.items()} == inputs:
            boards.append(board)
    return boards


def _draw(name: str, key: str, **options: Any) -> Any:
    """Draw the input of a setting of the comparison; its value is kept in the address."""
    return draw_setting(
        st, LeaderboardSettings, name, f"initializers_{key}", bind="query-params", **options
    )


@st.fragment
def _draw_form(workspace: Workspace, transfer: Transfer) -> None:
    """Draw the form of a new comparison; a setting reruns only this fragment."""
    with mistakes.show_errors():
        _start_form(workspace, transfer)


def _start_form(workspace: Workspace, transfer: Transfer) -> None:
    """Draw the settings of a comparison, its estimated duration, and the start button."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        # 1. What is held out.
        hidden = _draw("held_out", "hidden", step=100)
        seed = _draw("seed", "seed")
        matched = _draw("norm_matched", "matched", toggle=True)
    # 2. The initializers to compare, and the settings of those that are selected.
    settings = LeaderboardSettings(
        held_out=hidden, seed=seed, norm_matched=matched, rows=InitializerSettings(seed=seed)
    )
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
    settings = replace(settings, methods=tuple(compared))
    own = draw_own_settings(settings.rows, settings.methods, "initializers")
    settings = replace(settings, rows=own)
    corpora = {corpus.name: str(corpus.folder) for corpus in list_texts(workspace)}
    text = st.selectbox(
        "Text for masked loss",
        [NO_TEXT, *corpora],
        key="initializers_loss_text",
        help=HELP["masked loss"],
    )
    # 3. The estimated time; a text adds the masked loss of each initializer.
    inputs = dict(transfer.inputs)
    work = estimate_leaderboard_seconds(transfer.materials, settings)
    time = format_estimate(estimate_job_seconds(workspace, "leaderboard", work))
    about = f"{count(len(settings.methods_to_compare))} initializers take about {time}"
    if text in corpora:
        inputs["held_out"] = corpora[text]
        about += "; the masked loss reads the text once for each of them"
    st.markdown(f"{about}.")
    paths = {role: (path,) for role, path in inputs.items()}
    spec = Spec("leaderboard", LeaderboardStep(settings), paths)
    wish = Path(inputs.get("vectors") or inputs["target"]).stem
    name = panel.draw_start(workspace, spec, wish, "Compare initializers", "compare")
    if name:
        if text in corpora:  # the masked loss is not part of the model of costs
            work = 0.0
        panel.start(workspace, spec, name, work=work)


def _draw_standings(compared: InitializerComparison) -> None:
    """Draw the verdict, the chart and the table, with sample sizes and chance levels."""
    board = compared.board
    st.markdown(f"**{plain(board.verdict)}**")
    # 1. The chart; whiskers are two standard errors.
    names = [row.initializer for row in board.rows]
    cosines = [row.centered_cosine for row in board.rows]
    errors = [2 * row.standard_error for row in board.rows]
    baselines = [row.is_baseline for row in board.rows]
    best_first = ", ".join(
        f"{name} {fraction(cosine)}" for name, cosine in zip(names, cosines, strict=True)
    )
    figure = figures.plot_leaderboard(names, cosines, errors, baselines)
    draw_figure(figure, "board", f"Centered cosine of each initializer: {best_first}.")
    # 2. The table; it has the masked loss only if a text was given.
    labels = {True: " (baseline)", False: ""}
    neighbors_kept = f"neighbors kept, of {board.k}"
    table: dict[str, list[Any]] = {
        "initializer": [f"{row.initializer}{labels[row.is_baseline]}" for row in board.rows],
        "centered cosine": cosines,
        "P@1": [row.p1 for row in board.rows],
        "MRR": [row.mrr for row in board.rows],
        "median rank": [row.median_rank for row in board.rows],
        "norm ratio": [row.norm_ratio for row in board.rows],
        neighbors_kept: [row.neighbor_overlap for row in board.rows],
    }
    if compared.masked:
        table["masked loss"] = [row.masked_loss for row in board.rows]
    table["fallbacks"] = [row.fallbacks for row in board.rows]
    draw_table(
        table,
        column_config={
            **{
                name: st.column_config.NumberColumn(format="%.3f", help=HELP[name])
                for name in MEANS
            },
            neighbors_kept: st.column_config.NumberColumn(format="%.3f", help=HELP["kept"]),
            **{
                name: st.column_config.NumberColumn(help=HELP[name])
                for name in ("median rank", "fallbacks")
            },
        },
        key="standings",
    )
    draw_explanations([row.initializer for row in board.rows if row.initializer in INITIALIZERS])
    draw_note(
        f"{count(len(board.hidden))} of {count(board.of)} common tokens held out;"
        f" their true embeddings among {count(board.candidates)}, chance P@1"
        f" {chance(board.chance['p@1'])}, MRR {fraction(board.chance['mrr'])}. Norms and"
        f" neighbors of {count(board.judged)} of {count(board.added)} new tokens, among"
        f" {count(board.neighbor_candidates)}. Whiskers: ± 2 standard errors."
    )
    draw_note(_describe_masked_loss(compared))
    for name, why in board.skipped.items():
        st.markdown(f":small[Not in the table: {name}.] :small[:gray[{why}]]")


def _describe_masked_loss(compared: InitializerComparison) -> str:
    """State on what the masked loss was computed, or why it is missing."""
    if compared.masked is None:
        return f"Masked loss not computed: {plain(compared.why_not)}"
    before, words = compared.masked["before"], int(compared.masked["words"])
    lines = f"{count(int(compared.masked['lines']))} of {count(int(compared.masked['of']))} lines"
    return (
        f"Masked loss in nats per character over {count(words)} masked words of {lines};"
        f" the original model has {fraction(before)}."
    )
