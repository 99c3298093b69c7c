"""Parts of the page Home: status of the main steps of a workspace (done, out of date or missing),
recent artifacts, and ways to start in an empty workspace.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from vocadapt.analysis.results.tables import format_metric_name
from vocadapt.lab.demo import MODEL, NEWS, find_news_text, is_demo_installed, open_demo
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace, list_adapted_models
from vocadapt.ui.components.blocks import draw_link
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count, fraction
from vocadapt.ui.frame import address, mistakes

STATES = {
    "done": ":green[:material/check_circle: done]",
    "stale": ":violet[:material/update: out of date]",
    "missing": ":gray[:material/radio_button_unchecked: missing]",
}


@dataclass(frozen=True)
class MainStep:
    """One main step: its name, the kind of artifact it creates, its part and a description."""

    name: str
    kind: str
    part: str
    about: str


MAIN_STEPS = (
    MainStep(
        "Text",
        "corpora",
        "text",
        "Text of your domain, with word counts",
    ),
    MainStep("Word vectors", "vectors", "vectors", "Vectors of the words of your domain"),
    MainStep(
        "Alignment",
        "alignments",
        "alignment",
        "Alignment of word vectors with the model's embeddings",
    ),
    MainStep(
        "Adapted model",
        "models",
        "adapt",
        "Standard model folder with the new words",
    ),
    MainStep("Runs", "runs", "finetune", "Fine-tuned models and their scores"),
)


def draw_strip(workspace: Workspace) -> None:
    """Draw the steps in a row, each with its state, its newest artifact and a link to its page."""
    for column, step in zip(st.columns(len(MAIN_STEPS)), MAIN_STEPS, strict=True):
        found = list_results(step, workspace)
        with column, st.container(border=True, height="stretch"):
            st.markdown(f"**{step.name}**  \n{STATES[find_state(found, workspace)]}")
            about = format_headline(found[0]) if found else step.about
            st.markdown(f":small[{about}]")
            draw_link(step.part, "Open")


def list_results(step: MainStep, workspace: Workspace) -> list[Artifact]:
    """Return the artifacts of a step, newest first; of models, only adapted ones."""
    if step.kind == "models":
        return list_adapted_models(workspace)
    return workspace.artifacts(step.kind)


def find_state(found: list[Artifact], workspace: Workspace) -> str:
    """Return "done", "stale" or "missing", according to the newest artifact of a step."""
    if not found:
        return "missing"
    return "stale" if found[0].explain_staleness(workspace) else "done"


def format_headline(artifact: Artifact) -> str:
    """Format an artifact as Markdown: its name and its main figure."""
    return " · ".join(filter(None, (plain(artifact.name), _format_main_figure(artifact))))


def _format_main_figure(artifact: Artifact) -> str:
    """Format the main figure of an artifact; "" if it has none."""
    kind, numbers = artifact.kind, artifact.manifest.numbers
    if kind == "corpora" and "words" in numbers:
        return f"{count(numbers['words'])} words"
    if kind == "vectors":
        return f"{count(numbers['words'])} words × {numbers['dim']}"
    if kind == "alignments":
        basis = f"chance {fraction(numbers['chance@5'])}, n = {count(numbers['anchors'])}"
        return f"held-out P@5 {fraction(numbers['p@5'])} ({basis})"
    if kind == "models" and "added" in numbers:
        return f"{count(numbers['added'])} words added"
    if kind == "runs" and numbers.get("mean"):
        mean = fraction(numbers["mean"][numbers["metric"]])
        figure = f"{format_metric_name(numbers['metric'])} {mean} ({plain(numbers['cut'])})"
        return ", ".join(filter(None, (figure, plain(numbers.get("classes") or ""))))
    return ""


def list_recent(workspace: Workspace, n: int = 8) -> list[dict[str, str]]:
    """Return the newest artifacts of all steps as table rows."""
    artifacts = (artifact for step in MAIN_STEPS for artifact in list_results(step, workspace))
    everything = sorted(artifacts, key=lambda artifact: artifact.manifest.created, reverse=True)
    names = {step.kind: step.name for step in MAIN_STEPS}
    return [
        {
            "step": names[a.kind],
            "name": a.name,
            "created": a.manifest.created[:16].replace("T", " "),
        }
        for a in everything[:n]
    ]


def draw_ways_to_begin(workspace: Workspace) -> None:
    """Draw a card for each way to start: the user's own text, and, if they are installed, the demo
    and a small news text.
    """
    st.markdown("**This workspace is empty.** Where to begin:")
    draw_cards(
        workspace, [_draw_demo_card, *TEXT_CARDS] if is_demo_installed() else [_draw_own_card]
    )


def draw_cards(workspace: Workspace, cards: Sequence[Callable[[Workspace], None]]) -> None:
    """Draw at most three cards side by side."""
    for column, draw in zip(st.columns(3, gap="medium"), cards, strict=False):
        with column, st.container(border=True, height="stretch"):
            draw(workspace)


def _draw_demo_card(workspace: Workspace) -> None:
    st.markdown(
        "**Explore the demo**  \nTwo small language models, general and biomedical, and"
        " vectors of 20 000 biomedical words."
    )
    if st.button("Open the demo", type="primary", icon=":material/explore:", key="open_demo"):
        with mistakes.show_errors():
            open_demo(workspace)
            address.go_to("lens")


def _draw_news_card(workspace: Workspace) -> None:
    """Draw the card that imports the bundled news text and counts its words for the demo's model."""
    st.markdown(
        "**Try it on news**  \n300 news stories: each step takes seconds, but the text is too"
        " small for useful vectors."
    )
    if st.button("Import the news", icon=":material/bolt:", key="take_news"):
        with mistakes.show_errors():
            open_demo(workspace)
            inputs = {"text": (str(find_news_text()),), "model": (str(workspace.folder(*MODEL)),)}
            spec = Spec("corpus", CorpusStep(copy=True), inputs)
            queue.start(workspace, spec, workspace.find_free_name(*NEWS))
            address.go_to("text")


def _draw_own_card(workspace: Workspace) -> None:
    st.markdown(
        "**Your own text**  \nUpload a few megabytes of text from your domain, or give the"
        " path of a file or folder on this machine."
    )
    draw_link("text", "Start with a text")


TEXT_CARDS = (_draw_news_card, _draw_own_card)  # ways to import a text
