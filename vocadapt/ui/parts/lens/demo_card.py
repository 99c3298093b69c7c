"""The first screen of the demo: what new words change in one sentence, and where to go.

Everything was measured by `assets/demo/make_headline.py`; only the tokens are computed here.
"""

from typing import Any

import streamlit as st

from vocadapt.lab import demo
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.report.formats import format_signed
from vocadapt.system.files import read_json_object
from vocadapt.ui.components.blocks import draw_link
from vocadapt.ui.parts.lens.view import ModelEntry, build_tokenization_line
from vocadapt.ui.state import cache
from vocadapt.ui.text import markup
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count, fraction, percent

OPENED = "lens_demo"  # query parameter of the first screen
ADAPTED, RANDOM = "new-words", "random"  # variants of the study
BASELINE = "none"  # variants of the real task (experiments/full_task.py)
INITIALIZER_LABELS = {"context": "from context", "stacked": "from context and form"}


def draw_demo_card(workspace: Workspace) -> None:
    """Draw the card if the demo was just opened, and its models are in the workspace."""
    if st.query_params.get(OPENED) is None or not demo.HEADLINE.is_file():
        return
    before = demo.find_demo_artifact(workspace, demo.PLAIN_MODEL)
    after = demo.find_demo_artifact(workspace, demo.WORDS_MODEL)
    if before is None or after is None:
        return
    found = read_json_object(demo.HEADLINE)
    with st.container(border=True, key="va_demo_card"):
        # 1. A sentence before and after.
        entries = [_open("before", before), _open("after", after)]
        lines = [build_tokenization_line(one, entries[0], found["sentence"]) for one in entries]
        lengths = [len(line.chips) for line in lines]
        saved = percent(1 - lengths[1] / lengths[0])
        st.markdown(
            f"**The demo: one sentence takes {lengths[0]} → {lengths[1]} tokens ({saved} fewer)**"
        )
        markup.draw_tokenization_lines(lines)

        # 2. What its new words are near to.
        for one in found["words"]:
            neighbors = ", ".join(plain(word) for word in one["neighbors"])
            st.markdown(f":green[**{plain(one['word'])}**] is near {neighbors}.")

        # 3. A masked new word, and a task.
        _draw_masked(found)
        _draw_task(found["task"])
        _draw_real_task(found["real"])

        # 4. Where to go.
        with st.container(horizontal=True):
            text = found["masked"]["text"]
            draw_link("try", "Fill the mask", try_model=after.name, try_text=text)
            task = demo.find_demo_artifact(workspace, demo.WORDS_TASK)
            query = {"results_task": task.name} if task else {}
            draw_link("results", "See the scores", icon=":material/bar_chart:", **query)
            draw_link("vectors", "Look up words", icon=":material/search:")
            draw_link("lessons", "Take the lessons", icon=":material/school:")


def _open(label: str, artifact: Artifact) -> ModelEntry:
    return ModelEntry(label, str(artifact.folder), cache.model_of(str(artifact.folder)))


def _draw_masked(found: dict[str, Any]) -> None:
    """Draw a sentence with a masked new word, what both models fill in, and their losses."""
    masked = found["masked"]
    sentence = plain(masked["text"]).replace(plain(masked["mask"]), "**[?]**")
    filled = {
        name: ", ".join(plain(token) for token, _ in masked[name]) for name in ("with", "without")
    }
    st.markdown(
        f"{sentence} With new words: :green[{filled['with']}]; without: {filled['without']}."
    )
    loss = found["loss"]
    st.markdown(
        "Both models were pretrained on the same amount of biomedical text. Masked-token loss on"
        f" {count(loss['words'])} held-out words: **{fraction(loss['without'], 2)} →"
        f" {fraction(loss['with'], 2)}** nats per character with new words (lower is better)."
    )


def _draw_task(task: dict[str, Any]) -> None:
    base, *_ = task["f1"].values()
    st.markdown(
        "On a constructed task whose labels depend on single words, mean F1 (both tokenizations"
        " pooled) rises"
        f" **{fraction(base)} → {fraction(task['f1'][ADAPTED])}** ({task['seeds']} seeds,"
        f" p = {fraction(task['p'][ADAPTED])});"
        f" with random embeddings of the same words it is {fraction(task['f1'][RANDOM])}."
    )


def _draw_real_task(real: dict[str, Any]) -> None:
    variants = real["variants"]
    seeds = variants[BASELINE]["seeds"]
    st.markdown(
        f"A real task, {real['task']} with all training sentences (6-layer model,"
        f" {count(len(seeds))} seeds): mean"
        f" F1 {fraction(variants[BASELINE]['f1']['base'])} without new words."
    )
    for name, label in INITIALIZER_LABELS.items():
        _, low, high = variants[name]["difference to"][BASELINE]
        st.markdown(
            f"With new words {label}, **{fraction(variants[name]['f1']['pooled'])}**; 95 % interval"
            " of the"
            f" difference {format_signed(low)} to {format_signed(high)}, over test sentences alone."
        )
