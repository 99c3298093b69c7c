"""Noise baseline of a comparison: its picker, and the jobs that create one."""

from dataclasses import dataclass

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.noise_baselines import (
    find_resampled,
    list_noise_baselines,
    open_vectors_artifact,
    rebuild_spec,
    resample_lines,
    use_next_seed,
)
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.spaces.neighbors.change import ChangeSettings
from vocadapt.spaces.neighbors.noise_baseline import NONE
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import duration
from vocadapt.ui.jobs import panel

HELP = (
    "Selects the noise baseline: two spaces that differ only in the seed or in the sampled"
    " lines. Only words that change more than between these two count as changed."
)


@dataclass(frozen=True)
class ChosenBaseline:
    """Two sets of word vectors that differ only by noise, and their description; pair is None if
    there is no noise baseline.
    """

    pair: tuple[Artifact, Artifact] | None = None
    about: str = ""


def choose_baseline(
    workspace: Workspace, before: str, after: str, settings: ChangeSettings
) -> ChosenBaseline:
    """Show the picker of noise baselines of either side; return the selected one."""
    opened = (open_vectors_artifact(before), open_vectors_artifact(after))
    ours = list(filter(None, opened))
    found: dict[str, tuple[Artifact, Artifact]] = {}
    for artifact in ours:
        found |= list_noise_baselines(artifact, workspace)
    if settings.among != "shared":
        st.markdown(
            f":gray[{NONE.capitalize()}. It is available only if the candidates are the words in"
            " both spaces.]"
        )
        return ChosenBaseline()
    if not found:
        _offer_baseline(workspace, ours)
        return ChosenBaseline()
    name = st.selectbox(
        "Noise baseline", [*found, "none"], key="change_null", bind="query-params", help=HELP
    )
    if name not in found:
        st.markdown(f":violet[{NONE.capitalize()}.]")
        return ChosenBaseline()
    return ChosenBaseline(found[str(name)], str(name))


def _offer_baseline(workspace: Workspace, ours: list[Artifact]) -> None:
    """State that there is no noise baseline; offer to create one if a side can be retrained."""
    st.markdown(f":violet[**{NONE.capitalize()}.**]", help=HELP)
    for artifact in ours:
        try:
            spec = rebuild_spec(artifact)
        except InputError:
            continue
        _draw_training_buttons(workspace, artifact, spec)
        return
    draw_note(
        "Neither space can be retrained here. On the command line, any two spaces can be the"
        " noise baseline: `change --noise-baseline X Y`."
    )


def _draw_training_buttons(workspace: Workspace, artifact: Artifact, spec: Spec) -> None:
    """Draw the buttons that create a noise baseline: another seed, or two bootstrap resamples."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":small[Train **{plain(artifact.name)}** again: about"
            f" {duration(artifact.manifest.seconds)}]"
        )
        if st.button("With another seed", key="null_seed", icon=":material/casino:"):
            _start(workspace, use_next_seed(spec), f"{artifact.name}-seed")
        if not isinstance(spec.settings, VectorsStep):
            return
        help = "Trains on two bootstrap resamples of the lines; they form the noise baseline."
        if st.button(
            "Two bootstrap resamples", key="null_lines", icon=":material/shuffle:", help=help
        ):
            _start_resamples(workspace, artifact, spec)


def _start_resamples(workspace: Workspace, artifact: Artifact, spec: Spec) -> None:
    """Start the one or two trainings on bootstrap resamples that a noise baseline still lacks."""
    # A baseline needs two resamples of the same text; one may be left from an earlier attempt.
    used = {one.manifest.settings["resample"] for one in find_resampled(artifact, workspace)}
    unused = [seed for seed in range(1, len(used) + 3) if seed not in used]
    wish = f"{artifact.name}-lines"
    if not used:
        panel.launch(workspace, resample_lines(spec, unused[1]), _name(workspace, wish))
    _start(workspace, resample_lines(spec, unused[0]), wish)


def _start(workspace: Workspace, spec: Spec, name: str) -> None:
    panel.start(workspace, spec, _name(workspace, name))


def _name(workspace: Workspace, wish: str) -> str:
    return workspace.find_free_name(
        "vectors", wish, queue.list_promised_names(workspace, "vectors")
    )
