"""Initialisers: which rows new tokens start from, compared before any training, and one token under each of them."""

import streamlit as st

from vocadapt.ui import choose, frame, initialisers_view, leaderboard_view

workspace = frame.workspace()
st.title("Initialisers")
st.markdown(
    "Which row should a :green[**new token**] start from? See what each initialiser makes of it, and judge all of them before "
    "any training, on tokens whose true rows are known."
)

targets = initialisers_view.targets(workspace)
with st.container(horizontal=True):
    shown = st.selectbox(
        "Target: where new tokens come from", list(targets), index=0 if targets else None, key="target", bind="query-params",
        accept_new_options=True, placeholder="Type a model folder, or a vocab.txt", help=initialisers_view.HELP["target"],
    )  # fmt: skip
    target = targets.get(str(shown))
    name = choose.pick_model(workspace, default=choose.model_behind(target, workspace) if target else None)
if not shown:
    choose.nothing_yet(
        "There is nothing to transfer rows from yet.",
        "Type a target above: the folder of another model, or a `vocab.txt`. Or make word vectors from a text of your domain.",
        "pages/words/vectors.py", "Make word vectors",
    )  # fmt: skip
    st.stop()
if target:
    choose.stale_note(target, workspace)
transfer = initialisers_view.transfer(workspace, name, target or str(shown))
if transfer is None:
    st.stop()
initialisers_view.headline(transfer.materials)
initialisers_view.token_inspector(transfer)
leaderboard_view.leaderboard(workspace, transfer)
