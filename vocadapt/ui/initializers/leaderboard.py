"""The leaderboard of initializers on a page: the last comparison of a transfer, and the form that
starts another.
"""

import json
from pathlib import Path

import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.analysis.leaderboard.leaderboard import LeaderboardSettings, estimate_seconds
from vocadapt.lab.jobs.queue import promised
from vocadapt.lab.steps.command_lines import build_artifact_command
from vocadapt.lab.steps.compare_initializers import InitializerComparison
from vocadapt.lab.steps.spec import LeaderboardStep, Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.settings import limits
from vocadapt.ui.components import pickers
from vocadapt.ui.components.estimates import format_estimate
from vocadapt.ui.components.export import tsv
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count, fraction
from vocadapt.ui.components.optional_input import optional_number
from vocadapt.ui.frame import cache
from vocadapt.ui.initializers.view import Transfer
from vocadapt.ui.jobs import panel
from vocadapt.vocabulary.initializers.initialize import InitializerSettings

MEANS = ("centered cosine", "P@1", "MRR", "length ratio", "masked loss")
NO_TEXT = "none: not asked"
HELP = {
    "centered cosine": (
        "How alike the made row and the true one are, both less the mean row. 1: equal; 0: nothing"
        " in common."
    ),
    "P@1": "Share of hidden tokens whose true row is the nearest of all to the made one.",
    "MRR": "Mean of 1 / rank of the true row: 1 is always first.",
    "median rank": "Half of the true rows come nearer than this place.",
    "length ratio": "Length of the made rows by that of the model's own. 1 is as long.",
    "kept": (
        "How many of a token's nearest neighbors in the target are near its new row in the model,"
        " too."
    ),
    "masked loss": (
        "Nats per character on hidden words of a text that nothing was trained on: lower is better."
        " Only a model with a masked-word head can be asked."
    ),
    "filled otherwise": "Rows that the initializer could not make: another one did.",
}


def leaderboard(workspace: Workspace, transfer: Transfer) -> None:
    """The last comparison of this transfer, with its verdict, and the form that starts another one
    as a job.
    """
    st.subheader("Before any training: which rows are right?")
    st.markdown(
        "*Held out*: some common tokens are hidden, made anew as if the model lacked them, and"
        " compared with the rows they truly have. *Floors* know nothing of a token (the mean row, a"
        " random one): what is not above them has learned nothing."
    )
    panel.job_panel(workspace, ("leaderboard",))
    made = boards_of(workspace, transfer)
    if made:
        kept = pickers.pick("Comparison", made, "initializers_board", newest=True)
        pickers.stale_note(kept, workspace)
        _standings(cache.compared_of(kept))
        _export(kept)
    with st.expander("Compare again", icon=":material/replay:") if made else st.container():
        _start(workspace, transfer)


def boards_of(workspace: Workspace, transfer: Transfer) -> list[Artifact]:
    """The leaderboards that were made of these inputs, newest first."""
    wanted = {role: Path(path).resolve() for role, path in transfer.inputs.items()}
    return [
        board
        for board in workspace.artifacts("leaderboards")
        if _drawn_on(board, workspace) == wanted
    ]


def _drawn_on(board: Artifact, workspace: Workspace) -> dict[str, Path]:
    inputs = board.manifest.inputs.items()
    return {
        role: (workspace.root / given.paths[0]).resolve()
        for role, given in inputs
        if role != "held_out"
    }


def _start(workspace: Workspace, transfer: Transfer) -> None:
    """What is asked, about how long it takes, and the button."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        about = "Empty: 500, or a quarter of the common tokens if that is less."
        hidden = int(
            optional_number(
                "Tokens to hide",
                limits(LeaderboardSettings, "held_out"),
                0,
                "500",
                step=100,
                key="initializers_hidden",
                bind="query-params",
                help=about,
            )
        )
        seed = int(
            st.number_input(
                "Seed",
                *limits(LeaderboardSettings, "seed"),
                1,
                key="initializers_seed",
                bind="query-params",
            )
        )
        about = "Also at the old rows' median length."
        matched = st.toggle(
            "Norm-matched too", key="initializers_matched", bind="query-params", help=about
        )
    asked = LeaderboardSettings(
        held_out=hidden, seed=seed, norm_matched=matched, rows=InitializerSettings(seed=seed)
    )
    corpora = {corpus.name: str(corpus.folder) for corpus in workspace.artifacts("corpora")}
    text = st.selectbox(
        "Text for the masked-word loss",
        [NO_TEXT, *corpora],
        key="initializers_loss_text",
        help=HELP["masked loss"],
    )
    inputs = {**transfer.inputs, **({"held_out": corpora[text]} if text in corpora else {})}
    more = "; the masked-word loss reads the text once for each of them" if text in corpora else ""
    time = format_estimate(estimate_seconds(transfer.materials, asked))
    st.markdown(f"{len(asked.named)} initializers take about {time}{more}.")
    if st.button(
        "Compare the initializers", type="primary", icon=":material/leaderboard:", key="compare"
    ):
        wish = Path(inputs.get("vectors") or inputs["target"]).stem
        name = workspace.free_name("leaderboards", wish, promised(workspace, "leaderboards"))
        spec = Spec(
            "leaderboard", LeaderboardStep(asked), {role: (path,) for role, path in inputs.items()}
        )
        panel.start(workspace, spec, name)


def _standings(compared: InitializerComparison) -> None:
    """The picture, the verdict and the table, with n, candidates and chance."""
    board = compared.board
    st.markdown(f"**{plain(board.verdict)}**")
    names, cosines = (
        [row.initializer for row in board.rows],
        [row.centered_cosine for row in board.rows],
    )
    kept = f"neighbors kept, of {board.k}"
    errors, floors = (
        [2 * row.standard_error for row in board.rows],
        [row.floor for row in board.rows],
    )
    st.plotly_chart(
        figures.plot_leaderboard(names, cosines, errors, floors),
        key="board",
        config={"displayModeBar": False},
    )
    st.dataframe(
        {
            "initializer": [
                f"{row.initializer} (floor)" if row.floor else row.initializer for row in board.rows
            ],
            "centered cosine": cosines,
            "P@1": [row.p1 for row in board.rows],
            "MRR": [row.mrr for row in board.rows],
            "median rank": [row.median_rank for row in board.rows],
            "length ratio": [row.norm_ratio for row in board.rows],
            kept: [row.neighbor_overlap for row in board.rows],
            **({"masked loss": [row.masked_loss for row in board.rows]} if compared.masked else {}),
            "filled otherwise": [row.fallbacks for row in board.rows],
        },
        column_config={
            **{
                name: st.column_config.NumberColumn(format="%.3f", help=HELP[name])
                for name in MEANS
            },
            kept: st.column_config.NumberColumn(format="%.3f", help=HELP["kept"]),
            **{
                name: st.column_config.NumberColumn(help=HELP[name])
                for name in ("median rank", "filled otherwise")
            },
        },
        hide_index=True,
        key="standings",
    )
    st.markdown(
        f":small[:gray[{count(len(board.hidden))} of {count(board.of)} common tokens hidden; their"
        f" true rows among {count(board.candidates)}, chance P@1 {fraction(board.chance['p@1'])},"
        f" MRR {fraction(board.chance['mrr'])}. Lengths and neighbors of {count(board.judged)} of"
        f" {count(board.added)} new tokens, among {count(board.neighbor_candidates)}. Whiskers: ±"
        " 2 standard errors.]]"
    )
    st.markdown(f":small[:gray[{_about_loss(compared)}]]")
    for name, why in board.skipped.items():
        st.markdown(f":small[Not in the table: {name}.] :small[:gray[{why}]]")


def _about_loss(compared: InitializerComparison) -> str:
    """What the masked-word loss was asked on, else why it was not."""
    if compared.masked is None:
        return f"Masked-word loss not asked: {plain(compared.why_not)}"
    before, words = compared.masked["before"], int(compared.masked["words"])
    lines = f"{count(int(compared.masked['lines']))} of {count(int(compared.masked['of']))} lines"
    return (
        f"Masked-word loss in nats per character over {count(words)} hidden words of {lines};"
        f" before any change {before:.3f}."
    )


def _export(kept: Artifact) -> None:
    compared = cache.compared_of(kept)
    rows = [row.to_dict() for row in compared.board.rows]
    with st.expander("Details & export", icon=":material/data_object:"):
        st.markdown("The same comparison in a terminal")
        st.code(build_artifact_command(kept), language="bash", wrap_lines=True)
        with st.container(horizontal=True):
            make = {
                "leaderboard.tsv": lambda: tsv(
                    tuple(rows[0]), [tuple(row.values()) for row in rows]
                ),
                "leaderboard.json": lambda: json.dumps(compared.to_dict(), indent=1),
            }
            for name, content in make.items():
                st.download_button(
                    name,
                    content,
                    name,
                    on_click="ignore",
                    icon=":material/download:",
                    key=f"get_{name}",
                )
