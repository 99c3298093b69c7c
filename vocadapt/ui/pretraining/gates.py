"""Gate weights of an exBERT by layer and kind of token, on the page Pretraining."""

import shlex
from pathlib import Path

import streamlit as st

from vocadapt.analysis.figures import pretraining
from vocadapt.analysis.gates import KINDS
from vocadapt.lab.artifacts.corpora import read_corpus
from vocadapt.lab.reports.gates import LINES, GateReport, GateSettings, measure_gates_on_text
from vocadapt.lab.steps.command_lines import PROGRAM
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.extension_size import ModuleSize
from vocadapt.models.language_model import LanguageModel
from vocadapt.settings import limits
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import draw_command, draw_figure, draw_note
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count, fraction
from vocadapt.ui.frame import cache

NOTHING = 0.02  # of two shares: untrained gates of the demo's exBERT are .013 apart


def gates(workspace: Workspace, corpora: list[Artifact], default: str) -> None:
    """Choose an exBERT of the workspace and a text; on the press its gates are read, and drawn by
    layer and kind of token.
    """
    able = [one for one in workspace.artifacts("models") if _has_gates(one)]
    if not able or not corpora:
        return
    st.subheader("Extension gates by layer")
    st.markdown(
        "Shows the :green[**extension's weight**] in each layer, by kind of token. 0: only"
        " :blue[**BERT's own layer**]; 1: only the extension. Untrained gates give about"
        " their initial value for every kind of token."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        able.sort(key=lambda one: one.name != default)
        model = pickers.pick("exBERT", able, "pretraining_gates_model")
        corpus = pickers.pick("Text", corpora, "pretraining_gates_text")
        lines = int(
            st.number_input(
                "Lines",
                1,
                limits(GateSettings, "lines")[1],
                LINES,
                20,
                key="pretraining_gates_lines",
                help="Number of lines to sample at random.",
                width=150,
            )
        )
        pressed = st.button("Read the gates", icon=":material/visibility:", key="read_gates")
    key = (str(model.folder), model.stamp, corpus.stamp, lines)
    if pressed:
        st.session_state["gates_read"] = (key, _read(model, corpus, lines))
    read, found = st.session_state.get("gates_read", ((), None))
    if read != key:
        return
    drawn(found)
    command = [
        *PROGRAM,
        "gates",
        "--model",
        str(model.folder),
        "--corpus",
        str(corpus.folder),
        "--lines",
        str(lines),
    ]
    with st.expander("The same in a terminal", icon=":material/terminal:"):
        draw_command(shlex.join(command))


def drawn(found: GateReport) -> None:
    """The picture, and what it says in words."""
    shares = found.shares
    draw_figure(pretraining.plot_gates(shares), "gate_heat")
    left_out = (
        f"; {count(shares.too_long)} windows were too long for the model" if shares.too_long else ""
    )
    kinds = " · ".join(f"{kind}: {plain(KINDS[kind])}" for kind in shares.kinds if kind in KINDS)
    read = f"{count(found.lines)} of {count(found.of)} lines{left_out}"
    draw_note(
        f"Means over {count(shares.counts[-1])} tokens of {read}. {kinds}. Before"
        f" training the weight was about {fraction(found.start)} overall, in single cells up"
        " to .1 away."
    )
    if "added" in shares.kinds:
        place = shares.kinds.index("added")
        st.markdown(
            listening(float(shares.means[:, place].mean()), float(shares.means[:, -1].mean()))
        )


def listening(added: float, all: float) -> str:
    """What the extension's share at added tokens and at all tokens says; shares as near as
    untrained ones are no difference.
    """
    told = [fraction(share) for share in (added, all)]
    listens = "about as much" if abs(added - all) < NOTHING else "more" if added > all else "less"
    return (
        f"Over all layers the extension's weight is **{told[0]}** for added tokens and"
        f" {told[1]} for all tokens: added tokens use the extension {listens}."
    )


def _has_gates(artifact: Artifact) -> bool:
    """Whether a model of the workspace has modules; one that cannot be read has none."""
    return _modules(str(artifact.folder), artifact.stamp)


@st.cache_data(max_entries=64, show_spinner=False)
def _modules(folder: str, stamp: str) -> bool:
    try:
        return bool(ModuleSize.beside(LanguageModel(Path(folder), folder).config).hidden)
    except Exception:
        return False


def _read(model: Artifact, corpus: Artifact, lines: int) -> GateReport:
    """Read the gates, and show how far it is."""
    bar = st.progress(0.0, text="Reading the gates …")

    def step(fraction: float | None, message: str = "") -> None:
        bar.progress(min(fraction or 0.0, 1.0), text=plain(message) or "Reading the gates …")

    found = measure_gates_on_text(
        cache.model_of(str(model.folder)), read_corpus([corpus.folder]), GateSettings(lines), step
    )
    bar.empty()
    return found
