"""The comparison that the page shows: a saved one, one that is fast enough to compute now, or the
job that computes one; and its noise baseline.
"""

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.inputs.open_space import OpenedSpace
from vocadapt.lab.steps.change import (
    ChangeInputs,
    ChangeStep,
    Comparison,
    choose_retrainable,
    compare_spaces,
    load_comparison,
)
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
from vocadapt.lab.workspace.manifest import read_saved_settings
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.spaces.neighbors.change import (
    AMONG,
    WHOLE_WORDS,
    ChangeSettings,
    have_same_vectors,
)
from vocadapt.spaces.neighbors.noise_baseline import NONE, explain_missing_baseline
from vocadapt.system import json_values
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.setting_inputs import draw_linked_setting
from vocadapt.ui.jobs import forms, guards, panel
from vocadapt.ui.state import address, cache
from vocadapt.ui.state.names import (
    display_model,
    display_name,
    find_model_stem,
    label_of,
    list_display_names,
    model_behind,
    spaces_of,
)
from vocadapt.ui.text.markup import plain

KEY, NEW = "change_comparison", "New comparison"
AT_ONCE = 2.0  # seconds under the current load: a slower comparison is a job
ALWAYS_EXCLUDED = ("special", "unused")
AUTO = "automatic"
MEANING = (
    "Noise baseline: even two training runs on the same text disagree. A word counts as"
    " :violet[**changed**] if it keeps fewer neighbors than 95 % of words of similar frequency keep"
    " between those two."
)
HELP = {
    "baseline": (
        "Selects the noise baseline: two spaces that differ only in the seed or in the sampled"
        " lines. Only words that change more than between these two count as changed."
    ),
    "among": (
        "Selects which words may be neighbors. Shared: the words in both spaces. All: all words of"
        " each space, so that a neighbor that only one space has counts as a change. Automatic: all"
        " if the words in both have the same vectors, as in a model and the model it was made from."
    ),
    "whole": (
        "Compares whole words only: no punctuation, no numbers, and no wordpieces that continue a"
        " word."
    ),
}


@dataclass(frozen=True, eq=False)
class ShownComparison:
    """A comparison, the spec that computes it, and its artifact if it was saved."""

    found: Comparison
    spec: Spec
    artifact: Artifact | None = None


def name_spaces(shown: ShownComparison) -> tuple[str, str]:
    """Return the display names of the spaces before and after."""
    before, after = (shown.spec.inputs[role][0] for role in ("before", "after"))
    workspace = address.workspace()
    return display_model(workspace, before), display_model(workspace, after)


def pick_saved(workspace: Workspace) -> Artifact | None:
    """Draw the picker of finished comparisons; return the selected one, None for a new one."""
    saved = workspace.artifacts("changes")
    names = [artifact.name for artifact in saved]
    # A link to two spaces opens a new comparison, also if finished ones exist.
    if KEY not in st.query_params and "change_before" in st.query_params:
        address.show_next(KEY, NEW)
    if not names:
        address.write(KEY, [NEW])
        return None
    labels = list_display_names(workspace, "changes")
    chosen = pickers.pick_name("Comparison", [*names, NEW], KEY, names[0], labels=labels)
    return saved[names.index(chosen)] if chosen in names else None


def open_saved(workspace: Workspace, artifact: Artifact) -> ShownComparison:
    """Open a finished comparison; its spaces need not exist any more."""
    pickers.warn_if_stale(artifact, workspace)
    return ShownComparison(load_cached(artifact), read_spec(workspace, artifact), artifact)


def choose_new(workspace: Workspace) -> Spec | None:
    """Draw the pickers of two spaces and the settings; return the spec, None without two spaces."""
    first, second = suggest_pair(workspace)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        before = pickers.pick_space(workspace, "Before", "change_before", first)
        after = pickers.pick_space(workspace, "After", "change_after", second)
        with st.popover("Set up", icon=":material/tune:"):
            settings, among = _choose_settings()
    if not (before and after):
        return None
    if before == after:
        raise InputError(
            "Before and after are the same space: every word keeps all its neighbors.",
            "Select two different spaces, such as a model and the model it was made from.",
        )
    if among == AUTO:
        among = suggest_candidates(before, after)
    settings = replace(settings, among=among)
    inputs: dict[str, tuple[str, ...]] = {"before": (before,), "after": (after,)}
    counts = find_counts(workspace, before, after)
    if counts is not None:
        inputs["counts"] = (str(counts.folder),)
    pair = choose_baseline(workspace, before, after, settings)
    if pair is not None:
        inputs["noise"] = tuple(str(one.folder) for one in pair)
    return Spec(ChangeStep(settings), inputs, offline=True)


def compare(workspace: Workspace, spec: Spec) -> ShownComparison | None:
    """Return the comparison of a spec: a finished one, or computed now if that is fast.

    Otherwise draws the button that starts a job, and returns None.
    """
    # 1. A finished one with the same inputs and settings.
    saved = workspace.artifacts("changes")
    made = next((one for one in saved if _is_result_of(workspace, one, spec)), None)
    if made is not None:
        with suppress(InputError):  # of an earlier version, or damaged: compare again
            shown = open_saved(workspace, made)
            draw_note(f"Computed before: {plain(display_name(workspace, 'changes', made.name))}")
            return shown
    # 2. Computed now, if it takes no longer than a page may.
    forecast = guards.forecast_job(workspace, spec)
    if forecast is not None and forecast.seconds_without_start_up <= AT_ONCE:
        opened = {
            role: [cache.open_named_space(name) for name in names]
            for role, names in spec.inputs.items()
        }
        return ShownComparison(compare_cached(opened, spec.settings), spec)
    # 3. A job.
    with st.container(border=True):
        st.markdown(
            "Compares every word with every other in both spaces. You can continue working"
            " meanwhile."
        )
        forms.draw_start(workspace, spec, suggest_name(spec), "Compare", "change_start")
    return None


def _is_result_of(workspace: Workspace, artifact: Artifact, spec: Spec) -> bool:
    """Return whether an artifact is the current result of a spec, also if a command made it."""
    if json_values.plain(asdict(spec.settings)) != json_values.plain(artifact.manifest.settings):
        return False
    made_from = {
        role: [(workspace.root / path).resolve() for path in given.paths]
        for role, given in artifact.manifest.inputs.items()
    }
    wanted = {
        role: [cache.open_named_space(path).folder.resolve() for path in paths]
        for role, paths in spec.inputs.items()
    }
    return made_from == wanted and not artifact.explain_staleness(workspace)


def suggest_name(spec: Spec) -> str:
    """Return the suggested name of a comparison, made of those of the spaces: before-to-after."""
    return "-to-".join(find_model_stem(spec.inputs[role][0]) for role in ("before", "after"))


def suggest_pair(workspace: Workspace) -> tuple[str, str]:
    """Return the labels of the two spaces to compare first, "" for none.

    The newest adapted model after its base; else two models, two sets of word vectors, or any two.
    """
    known = spaces_of(workspace)
    # 1. The newest model that was made from another one.
    for artifact in workspace.artifacts("models"):
        base = model_behind(artifact, workspace)
        if base is not None and Path(base) != artifact.folder:
            return label_of(base, known), label_of(str(artifact.folder), known)
    # 2. Two of the same kind, the older one before.
    for kind in ("models", "vectors"):
        newest = [label_of(str(one.folder), known) for one in workspace.artifacts(kind)]
        if len(newest) > 1:
            return newest[1], newest[0]
    # 3. Any two.
    labels = [*known, "", ""]
    return labels[0], labels[1]


def suggest_candidates(before: str, after: str) -> str:
    """Return which words may be neighbors: all if only added words can change a neighborhood."""
    first = cache.open_named_space(before).space
    second = cache.open_named_space(after).space
    shared = [word for word in first.words if word in second]
    has_other_words = max(len(first), len(second)) > len(shared)
    if shared and has_other_words and have_same_vectors(first, second, shared):
        return "all"
    return "shared"


def find_counts(workspace: Workspace, before: str, after: str) -> Artifact | None:
    """Return word vectors whose counts say how frequent a word is; None if a space has its own.

    Those that the adapted model was made with, else the newest of the workspace.
    """
    counted = [
        one for one in workspace.artifacts("vectors") if "occurrences" in one.manifest.numbers
    ]
    folders = {one.folder: one for one in counted}
    ours = {Path(before), Path(after)}
    if ours & set(folders):
        return None
    for model in workspace.artifacts("models"):
        made_with = model.manifest.inputs.get("vectors")
        folder = workspace.root / made_with.paths[0] if made_with else None
        if model.folder in ours and folder in folders:
            return folders[folder]
    return next(iter(counted), None)


def read_spec(workspace: Workspace, artifact: Artifact) -> Spec:
    """Return the spec of a finished comparison."""
    manifest = artifact.manifest
    inputs = {
        role: tuple(str(workspace.root / path) for path in given.paths)
        for role, given in manifest.inputs.items()
    }
    settings = read_saved_settings(ChangeStep, manifest.settings, artifact.name)
    return Spec(settings, inputs, offline=True)


@st.cache_resource(max_entries=8, show_spinner="Reading the comparison …", hash_funcs=cache.STAMPS)
def load_cached(artifact: Artifact) -> Comparison:
    """Return a saved comparison."""
    return load_comparison(artifact.folder)


@st.cache_resource(
    max_entries=8, show_spinner="Comparing the neighbors of every word …", hash_funcs=cache.STAMPS
)
def compare_cached(opened: dict[str, list[OpenedSpace]], settings: ChangeStep) -> Comparison:
    """Return the comparison of two spaces. opened: the spaces of each input of the step."""
    noise = tuple(one.space for one in opened.get("noise", ()))
    counted = next((one.space for one in opened.get("counts", ())), None)
    spaces = ChangeInputs(opened["before"][0], opened["after"][0], noise, counted)
    return compare_spaces(spaces, settings)


def _choose_settings() -> tuple[ChangeSettings, str]:
    initial = ChangeSettings()
    k = draw_linked_setting(initial, "k", "change_k", most=100)
    among = st.selectbox(
        "Neighbors among",
        [AUTO, *AMONG],
        key="change_among",
        bind="query-params",
        help=HELP["among"],
    )
    whole = st.toggle(
        "Whole words only", True, key="change_whole", bind="query-params", help=HELP["whole"]
    )
    without = WHOLE_WORDS if whole else ALWAYS_EXCLUDED
    return ChangeSettings(k, without=without), str(among)


def choose_baseline(
    workspace: Workspace, before: str, after: str, settings: ChangeSettings
) -> tuple[Artifact, Artifact] | None:
    """Show the picker of the noise baselines of either side; return the selected pair."""
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
        help=explain("Noise baseline", HELP["baseline"]),
    )
    return found.get(str(name))


def draw_baseline(workspace: Workspace, shown: ShownComparison) -> None:
    """Explain the noise baseline of a comparison, or why it has none; offer to make one."""
    change = shown.found.change
    if shown.found.baseline is not None:
        draw_note(MEANING)
    elif change.same_vectors or change.settings.among != "shared":
        draw_note(str(explain_missing_baseline(change)))
    else:
        _offer_baseline(workspace, shown.spec)


def _offer_baseline(workspace: Workspace, spec: Spec) -> None:
    """Draw the buttons that start a job with a noise baseline, or why none can be made."""
    try:
        artifact = choose_retrainable([spec.inputs[role][0] for role in ("before", "after")])
        again = rebuild_spec(artifact)
    except InputError as error:
        draw_note(
            f"{NONE}. {plain(error.problem)} Word vectors that you train in this"
            " workspace can be trained a second time: compare those."
        )
        return
    # 1. What is missing, and what a press does.
    st.markdown(
        f"**{NONE}.** Even two training runs on the same text disagree: train"
        f" **{plain(artifact.name)}** a second time to see by how much."
    )
    guards.draw_forecast(workspace, again)
    # 2. One press trains and compares.
    with st.container(horizontal=True):
        if depends_on_seed(again):
            label, icon = "Make the noise baseline", ":material/casino:"
            if st.button(label, key="null_seed", icon=icon):
                _start_with_training(workspace, spec, SEED)
        if isinstance(again.settings, VectorsStep):
            label, icon = "From resampled lines", ":material/shuffle:"
            help = (
                "Trains twice, on two bootstrap resamples of the lines, instead of once with"
                " another seed."
            )
            if st.button(label, key="null_lines", icon=icon, help=help):
                _start_with_training(workspace, spec, BOOTSTRAP)


def _start_with_training(workspace: Workspace, spec: Spec, how: str) -> None:
    spec = replace(spec, settings=replace(spec.settings, train_noise=how))
    name = pickers.find_default_name(workspace, spec.kind, suggest_name(spec))
    panel.start(workspace, spec, name)
