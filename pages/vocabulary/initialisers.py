"""Initialisers: which rows new tokens start from, compared before any training, and one token under
each of them.
"""

import streamlit as st

from vocadapt.ui import choose, frame, initialisers_view, leaderboard_view

workspace = frame.workspace()
st.title("Initialisers")
st.markdown(
    "Which row should a :green[**new token**] start from? See what each initialiser makes of it,"
    " and judge all of them before any training, on tokens whose true rows are known."
)

targets = initialisers_view.targets(workspace)
with st.container(horizontal=True):
    shown = choose.pick_open(
        workspace,
        "Target: where new tokens come from",
        {label: str(one.folder) for label, one in targets.items()},
        "initialisers_target",
        next(iter(targets), ""),
        "Type a model folder, or a vocab.txt",
        initialisers_view.HELP["target"],
        ("vectors", "models"),
    )
    target = next((one for one in targets.values() if str(one.folder) == shown), None)
    name = choose.pick_model(
        workspace,
        "initialisers_model",
        default=choose.model_behind(target, workspace) if target else None,
    )
if not shown:
    choose.nothing_yet(
        "There is nothing to transfer rows from yet.",
        "Type a target above: the folder of another model, or a `vocab.txt`. Or make word vectors"
        " from a text of your domain.",
        "pages/words/vectors.py",
        "Make word vectors",
    )
    st.stop()
if target:
    choose.stale_note(target, workspace)
transfer = initialisers_view.transfer(workspace, name, target or str(shown))
if transfer is None:
    st.stop()
initialisers_view.headline(transfer.materials)
initialisers_view.token_inspector(transfer)
leaderboard_view.leaderboard(workspace, transfer)
