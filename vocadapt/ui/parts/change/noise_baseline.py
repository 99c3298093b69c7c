"""Noise baseline of a comparison: its picker, what it means, and the buttons that make one."""

from dataclasses import replace

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.steps.change import Comparison, choose_retrainable
from vocadapt.lab.steps.noise_baselines import (
    BOOTSTRAP,
    SEED,
    depends_on_seed,
    list_noise_baselines,
    open_vectors_artifact,
    rebuild_spec,
)
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.spaces.neighbors.change import ChangeSettings
from vocadapt.spaces.neighbors.noise_baseline import NONE, explain_missing_baseline
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.jobs import guards
from vocadapt.ui.text.markup import plain

HELP = (
    "Selects the noise baseline: two spaces that differ only in the seed or in the sampled"
    " lines. Only words that change more than between these two count as changed."
)
MEANING = (
    "Noise baseline: even two training runs on the same text disagree. A word counts as"
    " :violet[**changed**] if it keeps fewer neighbors than 95 % of words of similar frequency keep"
    " between those two."
)


def choose_baseline(
    workspace: Workspace, before: str, after: str, settings: ChangeSettings
) -> tuple[Artifact, Artifact] | None:
    """Show the picker of the noise baselines of either side; return the selected pair, None if
    there is none.
    """
    if settings.among != "shared":
        return None
    found: dict[str, tuple[Artifact, Artifact]] = {}
    for artifact in filter(None, map(open_vectors_artifact, (before, after))):
        found |= list_noise_baselines(artifact, workspace)
    if not found:
        return None
    name = st.selectbox(
        "Noise baseline",
        [*found, "none"],
        key="change_null",
        bind="query-params",
        help=explain("Noise baseline", HELP),
    )
    return found.get(str(name))


def explain_baseline(found: Comparison) -> str:
    """Explain the noise baseline of a comparison, or why it has none; "" if one can be computed."""
    change, baseline = found.change, found.baseline
    if baseline is not None:
        return MEANING
    if change.same_vectors or change.settings.among != "shared":
        return str(explain_missing_baseline(change))
    return ""


def offer_baseline(workspace: Workspace, spec: Spec) -> Spec | None:
    """Draw the buttons that make a noise baseline, or why there is none; return the spec to start
    if one was pressed.
    """
    try:
        artifact = choose_retrainable([spec.inputs[role][0] for role in ("before", "after")])
        again = rebuild_spec(artifact)
    except InputError as error:
        draw_note(
            f"{NONE}. {plain(error.problem)} Word vectors that you train in this"
            " workspace can be trained a second time: compare those."
        )
        return None
    # 1. What is missing, and what a press does.
    st.markdown(
        f"**{NONE}.** Even two training runs on the same text disagree: train"
        f" **{plain(artifact.name)}** a second time to see by how much."
    )
    guards.draw_forecast(workspace, again)
    seeded = depends_on_seed(again)
    # 2. One press trains and compares.
    with st.container(horizontal=True):
        if seeded and st.button(
            "Make the noise baseline", key="null_seed", icon=":material/casino:"
        ):
            return _with_training(spec, SEED)
        if not isinstance(again.settings, VectorsStep):
            return None
        help = "Trains twice, on two bootstrap resamples of the lines, instead of once with another seed."
        if st.button(
            "From resampled lines", key="null_lines", icon=":material/shuffle:", help=help
        ):
            return _with_training(spec, BOOTSTRAP)
    return None


def _with_training(spec: Spec, how: str) -> Spec:
    return replace(spec, settings=replace(spec.settings, train_noise=how))
