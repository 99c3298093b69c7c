"""The part Home: the demo for an empty workspace, the walk, lessons, and recent artifacts."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from vocadapt.analysis.comparison import MIN_SEEDS
from vocadapt.analysis.results.fair_pairs import FairPair
from vocadapt.errors import InputError
from vocadapt.lab.demo import is_demo_complete, is_demo_installed, open_demo, start_demo_jobs
from vocadapt.lab.experiments import STEPS
from vocadapt.lab.jobs import queue
from vocadapt.lab.results.runs import find_fair_pair, find_remark
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.slices import list_slices
from vocadapt.lab.workspace.trials import was_tried
from vocadapt.lab.workspace.workspace import Artifact, Workspace, list_adapted_models
from vocadapt.report.formats import format_metric_name
from vocadapt.ui.components import mistakes
from vocadapt.ui.components.blocks import (
    draw_heading,
    draw_link,
    draw_metric,
    draw_note,
    draw_task_remark,
)
from vocadapt.ui.components.pickers import label_difference
from vocadapt.ui.jobs.results import find_artifact_part
from vocadapt.ui.parts.adapt.model import describe_size
from vocadapt.ui.parts.text.needed_size import describe_needed_text
from vocadapt.ui.state import address, cache
from vocadapt.ui.state.names import display_name, icon_of, list_display_names, shorten_name
from vocadapt.ui.state.pages import PAGE_OF_PART, PARTS
from vocadapt.ui.state.paths import is_for_others, name_machine
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import chance, count, count_noun, fraction

MOST_RECENT = 8  # artifacts listed
MAX_RECENT_LENGTH = 60  # characters of a name on a line of its own
COLUMNS = (2.2, 2, 1)  # of a step: what it is, its newest result, its link
COLLAPSED = "collapsed"
STATES = {
    "done": ":green-badge[:material/check_circle: done]",
    "running": ":blue-badge[:material/progress_activity: in progress]",
    COLLAPSED: ":violet-badge[:material/error: collapsed: train again]",
    "chance": ":violet-badge[:material/casino: at chance: more text is needed]",
    "stale": ":violet-badge[:material/update: out of date]",
    "ready": ":gray-badge[:material/radio_button_unchecked: ready]",
    "later": ":gray-badge[:material/schedule: later]",
}


def draw(workspace: Workspace) -> None:
    """Draw the offer of the demo, the five steps, and the recent artifacts."""
    # 1. An empty workspace: two ways to start.
    is_new = is_empty(workspace)
    if is_new and is_demo_installed():
        draw_beginning(workspace)
    # 2. The walk and the lessons.
    draw_walk(workspace)
    # 3. What was made last.
    draw_recent(workspace)
    if is_demo_installed() and not is_new and not is_demo_complete(workspace):
        offer_demo(workspace)
    place = (
        f"The workspace is the folder `{workspace.root}`. Your data does not leave this machine."
    )
    if is_for_others():
        place = "Your data is kept on the server of this lab, and is not sent anywhere else."
    draw_note(place)


@dataclass(frozen=True)
class WalkStep:
    """One step of the walk.

    title: what one does. about: one sentence. makes: the kinds of artifacts that must exist for the
    step to be done, each with the part that makes it. part: the part that shows the result. needs:
    kind of artifact without which the step comes later; "" if none. instead: what one may do
    instead of making them, after a comma; "" if nothing.
    """

    title: str
    about: str
    makes: tuple[tuple[str, str], ...]
    part: str
    needs: str = ""
    instead: str = ""


WALK = (
    WalkStep(
        "Look at the words",
        "Import a text from your field, and see how a model splits its words into wordpieces.",
        (("corpora", "text"),),
        "lens",
    ),
    WalkStep(
        "Make vectors and align",
        "Train vectors of these words, and align them with the model's embeddings.",
        (("vectors", "vectors"), ("alignments", "alignment")),
        "alignment",
    ),
    WalkStep(
        "Adapt",
        "Add the words to the model; everything else stays as it was.",
        (("models", "adapt"),),
        "adapt",
        "vectors",
    ),
    WalkStep(
        "Try and look",
        "Type a sentence, and see where the new words are among the old ones.",
        (("projections", "projection"),),
        "try",
        "models",
        ", or type a sentence on Try it",
    ),
    WalkStep(
        "Train and read the errors",
        "Fine-tune models on a task, and read the examples on which they differ.",
        (("runs", "finetune"),),
        "errors",
        "models",
    ),
)
FURTHER = {  # part → what it is for, after the walk
    "lessons": "Questions of a few minutes each, answered on these pages.",
    "studies": "Variants × tasks × seeds in one table, run in the background.",
}


@dataclass(frozen=True)
class StepState:
    """State of a step of the walk: a key of STATES, its artifacts, newest first, the part to open,
    and what one may do instead.
    """

    state: str
    found: tuple[Artifact, ...]
    part: str
    instead: str = ""


def draw_walk(workspace: Workspace) -> None:
    """Draw the five steps, the lessons and the studies; what comes next has the primary button,
    unless the workspace is empty: then it is the demo.
    """
    states = [find_state(step, workspace) for step in WALK]
    following = None
    if not is_empty(workspace):
        following = find_next_step(states)
    for place, (step, state) in enumerate(zip(WALK, states, strict=True)):
        with st.container(border=True, key=f"walk_{place + 1}"):
            _draw_step(workspace, place, step, state, following)
    for place, (part, about) in enumerate(FURTHER.items(), start=len(WALK)):
        with st.container(border=True, key=f"walk_{part}"):
            text, _, action = st.columns(COLUMNS, gap="medium", vertical_alignment="center")
            text.markdown(f"**{find_label(part)}**  \n{about}")
            with action:
                _draw_action(part, place == following)


def find_next_step(states: Sequence[StepState]) -> int:
    """Return the place of the step that comes next; the number of steps if all are done.

    An incomplete step is skipped if a later one is done: the rest of it was not needed.
    """
    last = max((place for place, one in enumerate(states) if one.state == "done"), default=-1)
    for place, one in enumerate(states):
        if one.state in ("stale", "chance", COLLAPSED):
            return place
        if one.state == "ready" and (place > last or not one.found):
            return place
    return len(states)


def _draw_step(
    workspace: Workspace, place: int, step: WalkStep, state: StepState, following: int | None
) -> None:
    """Draw a step. following: the place of the step that comes next, None if the workspace is
    empty.
    """
    about, result, action = st.columns(COLUMNS, gap="medium", vertical_alignment="center")
    about.markdown(f"**{place + 1} · {step.title}** {STATES[state.state]}  \n{step.about}")
    with result:
        if state.found and state.found[0].kind == "runs":
            _draw_pair(workspace)
        elif state.found:
            _draw_result(state.found[0], workspace)
        missing = describe_missing(state, is_past=following is not None and place < following)
        if missing and not is_empty(workspace):
            draw_note(missing)
    with action:
        _draw_action(state.part, place == following)


def describe_missing(state: StepState, is_past: bool = False) -> str:
    """Return what a step that is ready still lacks: the page that makes it; "" for other steps.

    is_past: whether a later step comes next.
    """
    if state.state != "ready":
        return ""
    lead = "Optional" if is_past else "Still to do"
    return f"{lead}: {find_label(state.part)}{state.instead}."


def _draw_action(part: str, is_next: bool) -> None:
    """Draw the primary button that opens a part, or a link if it is not what comes next."""
    label = find_label(part)
    if not is_next:
        draw_link(part, label)
    elif st.button(label, type="primary", icon=":material/arrow_forward:", key="walk_next"):
        address.go_to(part)


def find_label(part: str) -> str:
    """Return the title of the page that a part opens first, or of its tab."""
    page = PAGE_OF_PART[part]
    return page.title if page.parts[0].name == part else PARTS[part].title


def _draw_result(artifact: Artifact, workspace: Workspace) -> None:
    """Draw the main figure of an artifact and its name, or its name alone if it has none."""
    name = plain(shorten_name(display_name(workspace, artifact.kind, artifact.name)))
    figure = None
    with suppress(InputError):  # a damaged result has no figures
        figure = find_main_figure(artifact)
    if figure:
        label, value, basis = figure
        draw_metric(st, label, value, f"{name} · {basis}")
    else:
        st.markdown(name)


def _draw_pair(workspace: Workspace) -> None:
    """Draw the scores of the runs that are compared by default, and the remark on their task."""
    runs = cache.load_runs(workspace)
    pair = find_fair_pair(runs)
    if pair is None:  # no test split has labels
        return
    by_name = {one.name: one for one in runs if one.task == pair.task}
    compared = by_name[pair.compared[0]]
    sides = [side for side in (pair.compared, pair.baseline) if side is not None]
    for place, side in zip(st.columns(len(sides)), sides, strict=True):
        summary = by_name[side[0]].summary(side[1], compared.metric)
        label = "Baseline" if side == pair.baseline else format_metric_name(compared.metric)
        name = shorten_name(display_name(workspace, "runs", side[0]))
        value = fraction(summary.mean)
        if summary.collapsed == len(summary.values):
            value = f"{value} (collapsed)"
        draw_metric(place, label, value, f"{plain(name)} · {side[1]}")
    draw_note(describe_pair(pair))
    draw_task_remark(find_remark(list(by_name.values())))


def describe_pair(pair: FairPair) -> str:
    """Describe what a comparison is based on: seeds, differences, and runs that are left out."""
    parts = [count_noun(len(pair.seeds), "seed")]
    if pair.baseline is None:
        parts.append("nothing to compare with yet")
    elif len(pair.seeds) < MIN_SEEDS:
        parts.append(f"no verdict with fewer than {MIN_SEEDS} seeds")
    if pair.baseline is not None and not pair.is_fair:
        parts.append(f"they differ in {', '.join(map(label_difference, pair.differences))}")
    if pair.other_settings:
        n_left_out = count_noun(len(pair.other_settings), "run")
        parts.append(f"{n_left_out} with other settings left out")
    return " · ".join(parts)


def find_state(step: WalkStep, workspace: Workspace) -> StepState:
    """Return the state of a step, its artifacts and the part that continues it."""
    # 1. The artifacts of every kind; the first kind without one is made next.
    by_kind = {kind: list_results(kind, workspace) for kind, _ in step.makes}
    missing = [(kind, part) for kind, part in step.makes if not by_kind[kind]]
    found = [artifact for kind in reversed(by_kind) for artifact in by_kind[kind]]
    if missing:
        kind, part = missing[0]
        state = "ready"
        if queue.list_promised_names(workspace, kind):
            state = "running"
        elif step.needs and not workspace.artifacts(step.needs):
            state = "later"
        elif step.instead and (
            was_tried(workspace) or workspace.artifacts("changes") or list_slices(workspace)
        ):
            state, part = "done", step.part
        return StepState(state, tuple(found), part, step.instead)
    # 2. All are there: is the newest up to date?
    kind, part = step.makes[-1]
    if found[0].explain_staleness(workspace):
        return StepState("stale", tuple(found), part)
    # 3. What was found? A step that failed is not done: no run learned anything, for example.
    pair = find_fair_pair(cache.load_runs(workspace)) if kind == "runs" else None
    if pair and pair.collapsed:
        return StepState(COLLAPSED, tuple(found), part)
    if found[0].manifest.numbers.get("verdict") == "chance":
        return StepState("chance", tuple(found), part)
    return StepState("done", tuple(found), step.part)


def list_results(kind: str, workspace: Workspace) -> list[Artifact]:
    """Return the artifacts of a kind, newest first; of models, only those with added tokens."""
    if kind == "models":
        return [one for one in list_adapted_models(workspace) if one.manifest.numbers["added"]]
    return workspace.artifacts(kind)


def is_empty(workspace: Workspace) -> bool:
    """Return whether nothing of the walk was made yet."""
    return not any(list_results(kind, workspace) for step in WALK for kind, _ in step.makes)


def find_main_figure(artifact: Artifact) -> tuple[str, str, str] | None:
    """Return the main figure of an artifact: label, value, and what it is based on; None if it has
    none.
    """
    kind, numbers = artifact.kind, artifact.manifest.numbers
    if kind == "corpora" and "distinct" in numbers:
        return "Words of text", count(numbers["words"]), f"{count(numbers['distinct'])} distinct"
    if kind == "vectors":
        return "Words with a vector", count(numbers["words"]), f"{numbers['dim']} dimensions"
    if kind == "alignments":
        basis = f"chance {chance(numbers['chance@5'])}, n = {count(numbers['anchors'])}"
        return "Held-out P@5", fraction(numbers["p@5"]), basis
    if kind == "models" and "added" in numbers:
        return describe_size(numbers)
    return None


def draw_recent(workspace: Workspace) -> None:
    """Draw links to the newest artifacts of all steps, each on the page that shows it."""
    kinds = dict.fromkeys(step.makes for step in STEPS.values())
    artifacts = (one for kind in kinds for one in list_results(kind, workspace))
    newest = sorted(artifacts, key=lambda one: one.manifest.created, reverse=True)[:MOST_RECENT]
    if not newest:
        return
    draw_heading("Recent")
    names = {kind: list_display_names(workspace, kind) for kind in {one.kind for one in newest}}
    for artifact in newest:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            makers = (step for step in STEPS.values() if step.makes == artifact.kind)
            step = STEPS.get(artifact.manifest.step) or next(makers)
            part, query = find_artifact_part(step, artifact.name)
            shown = names[artifact.kind].get(artifact.name, artifact.name)
            name = plain(shorten_name(shown, MAX_RECENT_LENGTH))
            draw_link(part, name, icon=icon_of(artifact.kind), **query)
            created = artifact.manifest.created[:16].replace("T", " ")
            draw_note(f"{ARTIFACTS[artifact.kind]} · {created}")


def draw_beginning(workspace: Workspace) -> None:
    """Draw the ways to start in an empty workspace: the demo, and the user's text."""
    left, right = st.columns(2, gap="medium")
    with left, st.container(border=True, height="stretch"):
        st.markdown(
            "**See it work first**  \nThe demo fills every page within a minute, without a network:"
            " two small language models, vectors of 20 000 biomedical words, a task and its runs."
        )
        _draw_demo_button(workspace, "primary")
    with right, st.container(border=True, height="stretch"):
        st.markdown(
            f"**Begin with your own text**  \nUpload {describe_needed_text()} from your field, or"
            f" give the path of a file or folder on {name_machine()}."
        )
        draw_link("text", "Start with a text")


def offer_demo(workspace: Workspace) -> None:
    """Offer to add the missing artifacts of the demo to a workspace."""
    with st.container(horizontal=True, vertical_alignment="center", key="offer_demo"):
        _draw_demo_button(workspace, "tertiary")
        draw_note("Adds the parts of the demo that this workspace lacks; nothing else changes.")


def _draw_demo_button(workspace: Workspace, type: Literal["primary", "tertiary"]) -> None:
    """Draw the button that opens the demo and starts its jobs; then the page Tokenizer lens opens."""
    if st.button("Open the demo", type=type, icon=":material/explore:", key="open_demo"):
        with mistakes.show_errors():
            open_demo(workspace)
            start_demo_jobs(workspace)
            address.go_to("lens", lens_demo="opened")
