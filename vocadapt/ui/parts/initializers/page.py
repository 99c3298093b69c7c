"""The part Initializers: compare initializers before any training, on one token and on a
leaderboard.
"""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.parts.initializers import leaderboard, view
from vocadapt.ui.state.names import model_behind


def draw(workspace: Workspace) -> None:
    """Draw one token under each initializer, and the leaderboard."""
    # 1. The target, and the model that its tokens are added to.
    targets = view.list_targets(workspace)
    with st.container(horizontal=True):
        shown = pickers.pick_or_type(
            workspace,
            "Target",
            {label: str(one.folder) for label, one in targets.items()},
            "initializers_target",
            next(iter(targets), ""),
            "Pick a target, a model folder or a vocab.txt",
            view.HELP["target"],
            ("vectors", "models"),
        )
        target = next((one for one in targets.values() if str(one.folder) == shown), None)
        name = pickers.pick_model(
            workspace,
            "initializers_model",
            default=model_behind(target, workspace) if target else None,
        )
    if not shown:
        pickers.draw_empty_state(
            "There is no target yet.",
            "Choose a target above: the folder of another model, or a `vocab.txt` file. Or make"
            " word vectors from a text of your domain.",
            "vectors",
        )
        return
    if target:
        pickers.warn_if_stale(target, workspace)
    # 2. One token under each initializer, and the leaderboard of all of them.
    transfer = view.prepare_transfer(workspace, name, target or str(shown))
    if transfer is None:
        return
    view.draw_headline(transfer.materials)
    view.draw_token_inspector(transfer)
    leaderboard.draw_leaderboard(workspace, transfer)
