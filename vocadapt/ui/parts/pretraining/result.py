"""Blocks of the part Pretraining: a running job, figures and loss curves of pretrained models, and
the gate weights of an exBERT by layer and kind of token.
"""

from collections.abc import Mapping, Sequence

import streamlit as st

from vocadapt.analysis.figures.training import AGAINST, plot_gates, plot_held_out_losses
from vocadapt.analysis.gates import KINDS
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.status import Status
from vocadapt.lab.reports.pretraining import (
    GateReport,
    GateSettings,
    PretrainedModel,
    have_same_masked_tokens,
    measure_gates_on_text,
)
from vocadapt.lab.steps.run import CHECKPOINT
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.extension_size import ModuleSize
from vocadapt.models.language_model import LanguageModel
from vocadapt.training.masked.continued import list_intermediate_models
from vocadapt.training.masked.validation import read_curve
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import (
    draw_code,
    draw_command,
    draw_figure,
    draw_heading,
    draw_link,
    draw_metrics,
    draw_note,
    draw_table,
)
from vocadapt.ui.components.setting_inputs import draw_setting
from vocadapt.ui.jobs import panel
from vocadapt.ui.state import cache
from vocadapt.ui.state.names import display_label, display_model
from vocadapt.ui.text.markup import format_sentence, plain
from vocadapt.ui.text.number_formats import count, count_noun, duration, fraction

DEFAULT_CURVES = 4
LIVE_HEIGHT = 460  # pixels of a running job with its curve


def draw_running_job(job: Job, status: Status) -> None:
    """Draw a running job: its stage, its progress, and its held-out loss so far."""
    # 1. The status line of the job, with its stage.
    line = (
        f"{panel.CHIPS[status.state]} {panel.format_title(job)} · stage"
        f" **{job.spec.settings.pretraining.stage}** · {panel.describe_pace(job, status)}"
    )
    panel.draw_running_job(job, status, line)
    # 2. The held-out loss so far, which the checkpoint contains.
    curve = read_curve(job.folder / CHECKPOINT)
    if not curve.points:
        draw_note("The held-out loss appears here after the first steps.")
        return
    first, last = curve.points[0].loss, curve.points[-1].loss
    pace = ""
    if curve.tokens_per_second:
        pace = f" · **{count(round(curve.tokens_per_second))}** wordpieces per second"
    st.markdown(
        f"Held-out loss **{fraction(first)} → {fraction(last)}** nats per character after"
        f" {count(curve.points[-1].tokens)} wordpieces{pace} :small[:gray[on"
        f" {count(curve.n_evaluated)} of {count_noun(curve.n_held_out, 'held-out window')}]]"
    )
    if len(curve.points) > 1:
        figure = plot_held_out_losses({panel.find_job_name(job): curve}, height=220)
        alt = f"Held-out loss, from {fraction(first)} to {fraction(last)} nats per character."
        draw_figure(figure, f"held_out_{job.id}", alt=alt)
    # 3. The models saved during training.
    saved = list_intermediate_models(job.folder / CHECKPOINT)
    if saved:
        st.markdown(
            f":small[{count_noun(len(saved), 'model')} saved during training. The last one can"
            f" already be fine-tuned: {plain(str(saved[-1]))}]"
        )


def choose_result(workspace: Workspace, made: Sequence[PretrainedModel]) -> PretrainedModel:
    """Show the picker of pretrained models and the figures of the selected one; return it."""
    pick, link = st.columns([2.2, 1], vertical_alignment="bottom")
    with pick:
        artifact = pickers.pick(
            "Pretrained model",
            [one.artifact for one in made],
            "pretraining_pretrained",
            newest=True,
        )
    selected = next(one for one in made if one.name == artifact.name)
    draw_link("finetune", "Fine-tune it", link, finetune_models=artifact.name)
    pickers.warn_if_stale(artifact, workspace)
    draw_figures(selected, display_model(workspace, selected.model))
    return selected


def draw_figures(one: PretrainedModel, model: str) -> None:
    """Draw the loss per character before and after, the trained parameters, the tokens, and the
    time.

    model: display name of the model that was pretrained.
    """
    report = one.report
    loss = report.loss_per_character
    change = (loss["after"] - loss["before"]) / loss["before"]
    before_after = f"{fraction(loss['before'])} → {fraction(loss['after'])}"
    draw_metrics(
        ("Loss, nats per character", before_after, f"{100 * change:+.1f} %"),
        ("Stage", report.stage, plain(model) or None),
        ("Trained parameters", count(report.trainable), f"{count(report.frozen)} frozen"),
        ("Wordpieces", count(report.tokens), count_noun(report.steps, "step")),
    )
    # Sentences that interpret the change and state how it was measured.
    for finding in report.list_findings():
        st.markdown(format_sentence(finding.sentence))
    excluded = ""
    if too_long := report.held_out_too_long:
        excluded = f" Excluded for being too long for the model: {count_noun(too_long, 'window')}."
    draw_note(
        "Held-out loss in nats per character (1 nat = 1.44 bits) on"
        f" {count_noun(report.held_out_words, 'masked word')} of held-out lines,"
        f" before and after training.{excluded} A unigram model has"
        f" {fraction(loss['unigram'])}. Losses per character are comparable across"
        f" vocabularies; lower is better. The training took {duration(report.seconds)}, at"
        f" {count(round(report.tokens_per_second))} wordpieces/s."
    )
    if one.checkpoints:
        with st.expander(
            f"{count_noun(len(one.checkpoints), 'model')} saved during training",
            icon=":material/bookmarks:",
        ):
            draw_code("\n".join(one.checkpoints))


@st.fragment
def draw_curves(
    made: Sequence[PretrainedModel], selected: PretrainedModel, model_names: Mapping[str, str]
) -> None:
    """Draw the held-out loss of several models against wordpieces or time, and the table of all.

    model_names: display names of models.
    """
    draw_heading("Loss curves")
    able = [one for one in made if one.curve.points]
    if able:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            names = [one.name for one in able]
            # False sorts before True: the selected model is always drawn by default.
            selected_first = sorted(names, key=selected.name.__ne__)
            drawn = st.multiselect(
                "Models",
                names,
                selected_first[:DEFAULT_CURVES],
                key="pretraining_curves",
                bind="query-params",
                format_func=lambda name: model_names.get(name, name),
            )
            against = st.segmented_control(
                "X axis",
                list(AGAINST),
                default="tokens",
                required=True,
                key="pretraining_against",
                bind="query-params",
            )
        shown = {one.name: one for one in able if one.name in drawn}
        if shown:
            lines = {model_names.get(name, name): one.curve for name, one in shown.items()}
            every = [model_names.get(name, name) for name in names]
            figure = plot_held_out_losses(lines, str(against), among=every)
            last = [f"{name} {fraction(one.points[-1].loss)}" for name, one in lines.items()]
            alt = f"Held-out loss in nats per character. Last value: {', '.join(last)}."
            draw_figure(figure, "held_out_losses", alt=alt)
            describe_windows(list(shown.values()))
    draw_models(made, model_names)


def describe_windows(shown: Sequence[PretrainedModel]) -> None:
    """State on how many windows the losses were measured; warn if they differ between models."""
    sizes = dict.fromkeys(
        f"{count(one.curve.n_evaluated)} of {count_noun(one.curve.n_held_out, 'held-out window')}"
        for one in shown
    )
    draw_note(
        f"Each point is measured on {', '.join(sizes)}; evaluation time is not counted. The table"
        " shows the losses on all windows."
    )
    # Losses are comparable only on the same masked words.
    if not have_same_masked_tokens(shown):
        st.warning(
            "These models were evaluated on different words (another text, sample, seed or block"
            " length). Compare the shapes of the curves, not their levels.",
            icon=":material/info:",
        )


def draw_models(made: Sequence[PretrainedModel], names: Mapping[str, str]) -> None:
    """Draw the table of all pretrained models, newest first. names: display names of models."""
    reports = [one.report for one in made]
    columns: dict[str, list[object]] = {
        "model": [names.get(one.name, one.name) for one in made],
        "from": [display_label(one.model, names) for one in made],
        "stage": [row.stage for row in reports],
        "before": [row.loss_per_character["before"] for row in reports],
        "after": [row.loss_per_character["after"] for row in reports],
        "wordpieces": [row.tokens for row in reports],
        "seconds": [round(row.seconds) for row in reports],
        "per second": [round(row.tokens_per_second) for row in reports],
        "trained": [row.trainable for row in reports],
        "frozen": [row.frozen for row in reports],
    }
    draw_table(
        columns,
        {"before": fraction, "after": fraction},
        key="pretrained_table",
        column_config={
            "before": st.column_config.Column("loss before"),
            "after": st.column_config.Column("loss after"),
        },
    )


def draw_gate_section(workspace: Workspace, corpora: list[Artifact], default: str) -> None:
    """Show the pickers of an exBERT of the workspace and a text; draw its gates after a click."""
    # 1. The models with extension modules.
    able = [one for one in workspace.artifacts("models") if _has_gates(one)]
    if not able or not corpora:
        return
    draw_heading("Extension gates by layer")
    st.markdown(
        "Shows the :green[**extension's weight**] in each layer, by kind of token. 0: only"
        " :blue[**BERT's own layer**]; 1: only the extension. Untrained gates stay near"
        " their initial value for every kind of token."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        # The sort is stable: the model selected above is first, then the newest.
        able.sort(key=lambda one: one.name != default)
        model = pickers.pick("exBERT", able, "pretraining_gates_model")
        corpus = pickers.pick("Text", corpora, "pretraining_gates_text")
        lines = draw_setting(
            st, GateSettings, "lines", "pretraining_gates_lines", least=1, step=20, width=150
        )
        pressed = st.button("Measure gates", icon=":material/visibility:", key="read_gates")
    # 2. Measure on click. The result is shown until the model, the text or the lines change.
    key = (str(model.folder), model.stamp, corpus.stamp, lines)
    if pressed:
        with st.spinner("Measuring the gates …", show_time=True):
            measured = measure_gates_on_text(
                cache.model_of(str(model.folder)), read_corpus([corpus.folder]), GateSettings(lines)
            )
        st.session_state["gates_read"] = (key, measured)
    read, found = st.session_state.get("gates_read", ((), None))
    if read != key:
        return
    draw_gates(found)
    folders = ("--model", str(model.folder), "--corpus", str(corpus.folder))
    with st.expander("The same in a terminal", icon=":material/terminal:"):
        draw_command(["gates", *folders, "--lines", str(lines)])


def draw_gates(found: GateReport) -> None:
    """Draw the gates by layer and kind of token, and compare added tokens with all tokens."""
    gates = found.shares
    alt = "Heat map: mean weight of the extension module, by layer and kind of token."
    draw_figure(plot_gates(gates), "gate_heat", alt=alt)
    read = f"{count(found.lines)} of {count_noun(found.of, 'line')}"
    if gates.too_long:
        too_long = count_noun(gates.too_long, "window")
        read += f"; excluded for being too long for the model: {too_long}"
    kinds = " · ".join(f"{kind}: {plain(KINDS[kind])}" for kind in gates.kinds if kind in KINDS)
    draw_note(
        f"Means over {count_noun(int(gates.counts[-1]), 'token')} of {read}. {kinds}. Before"
        f" training the mean weight was about {fraction(found.start)}; single cells differed from"
        " it by up to .1."
    )
    if "added" in gates.kinds:
        place = gates.kinds.index("added")
        added = gates.means[:, place].mean()
        overall = gates.means[:, -1].mean()
        st.markdown(
            f"Over all layers the extension's weight is **{fraction(float(added))}** for added tokens"
            f" and {fraction(float(overall))} for all tokens."
        )


@st.cache_data(max_entries=64, show_spinner=False, hash_funcs=cache.STAMPS)
def _has_gates(artifact: Artifact) -> bool:
    """Return whether a model of the workspace has extension modules; False if it cannot be read."""
    try:
        config = LanguageModel(artifact.folder, str(artifact.folder)).config
        return bool(ModuleSize.from_config(config).hidden)
    # Any error of a damaged folder: one such model must not break the picker.
    except Exception:
        return False
