"""Gate weights of an exBERT by layer and kind of token, on the page Pretraining."""

import shlex

import streamlit as st

from vocadapt.analysis.figures import pretraining
from vocadapt.analysis.gates import KINDS
from vocadapt.lab.artifacts.corpora import read_corpus
from vocadapt.lab.reports.gates import GateReport, GateSettings, measure_gates_on_text
from vocadapt.lab.steps.command_lines import PROGRAM
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.extension_size import ModuleSize
from vocadapt.models.language_model import LanguageModel
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import draw_command, draw_figure, draw_note
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count, fraction
from vocadapt.ui.components.setting_inputs import draw_setting
from vocadapt.ui.frame import cache
from vocadapt.ui.frame.cache import STAMPS

NEGLIGIBLE = 0.02  # difference of two means: untrained gates of the demo's exBERT differ by .013


def draw_gate_section(workspace: Workspace, corpora: list[Artifact], default: str) -> None:
    """Show the pickers of an exBERT of the workspace and a text; draw its gates after a click."""
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
        lines = draw_setting(
            st, GateSettings, "lines", "pretraining_gates_lines", least=1, step=20, width=150
        )
        pressed = st.button("Measure gates", icon=":material/visibility:", key="read_gates")
    key = (str(model.folder), model.stamp, corpus.stamp, lines)
    if pressed:
        st.session_state["gates_read"] = (key, _measure(model, corpus, lines))
    read, found = st.session_state.get("gates_read", ((), None))
    if read != key:
        return
    draw_gates(found)
    command = [*PROGRAM, "gates", "--model", str(model.folder), "--corpus", str(corpus.folder)]
    command += ["--lines", str(lines)]
    with st.expander("The same in a terminal", icon=":material/terminal:"):
        draw_command(shlex.join(command))


def draw_gates(found: GateReport) -> None:
    """Draw the gates by layer and kind of token, and compare added tokens with all tokens."""
    gates = found.shares
    draw_figure(pretraining.plot_gates(gates), "gate_heat")
    read = f"{count(found.lines)} of {count(found.of)} lines"
    if gates.too_long:
        read += f"; {count(gates.too_long)} windows were too long for the model"
    kinds = " · ".join(f"{kind}: {plain(KINDS[kind])}" for kind in gates.kinds if kind in KINDS)
    draw_note(
        f"Means over {count(gates.counts[-1])} tokens of {read}. {kinds}. Before"
        f" training the weight was about {fraction(found.start)} overall; single cells differed"
        " by up to .1."
    )
    if "added" in gates.kinds:
        place = gates.kinds.index("added")
        added, overall = gates.means[:, place].mean(), gates.means[:, -1].mean()
        st.markdown(compare_added(float(added), float(overall)))


def compare_added(added: float, overall: float) -> str:
    """Compare the mean gate of added tokens with that of all tokens in a sentence."""
    verdict = "less"
    if abs(added - overall) < NEGLIGIBLE:
        verdict = "about as much"
    elif added > overall:
        verdict = "more"
    return (
        f"Over all layers the extension's weight is **{fraction(added)}** for added tokens and"
        f" {fraction(overall)} for all tokens: added tokens use the extension {verdict}."
    )


@st.cache_data(max_entries=64, show_spinner=False, hash_funcs=STAMPS)
def _has_gates(artifact: Artifact) -> bool:
    """Return whether a model of the workspace has extension modules; False if it cannot be read."""
    try:
        config = LanguageModel(artifact.folder, str(artifact.folder)).config
        return bool(ModuleSize.beside(config).hidden)
    except Exception:
        return False


def _measure(model: Artifact, corpus: Artifact, lines: int) -> GateReport:
    """Measure the gates of a model on sampled lines, with a progress bar."""
    bar = st.progress(0.0, text="Measuring the gates …")

    def step(fraction: float | None, message: str = "") -> None:
        bar.progress(min(fraction or 0.0, 1.0), text=plain(message) or "Measuring the gates …")

    found = measure_gates_on_text(
        cache.model_of(str(model.folder)), read_corpus([corpus.folder]), GateSettings(lines), step
    )
    bar.empty()
    return found
