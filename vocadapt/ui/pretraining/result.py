"""Results of continued pretraining: figures of one model, a table of all, and loss curves."""

from collections.abc import Sequence

import streamlit as st

from vocadapt.analysis.figures import pretraining
from vocadapt.analysis.figures.pretraining import AGAINST
from vocadapt.lab.reports.pretraining import PretrainedModel, have_same_masked_tokens
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.masked.held_out_loss import HIGHER, LOWER, describe_change
from vocadapt.training.rounding import describe_rounding
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import (
    draw_artifact_details,
    draw_figure,
    draw_metric,
    draw_note,
    draw_table,
    tsv,
)
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count, duration, fraction
from vocadapt.ui.frame.address import here

FINETUNE = "pages/train/finetune.py"
FIRST = 4  # curves drawn by default


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
    address = {"finetune_models": artifact.name, **here()}
    link.page_link(
        FINETUNE, label="Fine-tune it", icon=":material/arrow_forward:", query_params=address
    )
    pickers.stale_note(artifact, workspace)
    draw_figures(selected)
    return selected


def draw_figures(one: PretrainedModel) -> None:
    """Draw the loss per character before and after, the trained parameters, the tokens, and the time."""
    numbers = one.numbers
    loss = numbers["loss_per_character"]
    change = (loss["after"] - loss["before"]) / loss["before"]
    columns = st.columns(5)
    before_after = f"{fraction(loss['before'])} → {fraction(loss['after'])}"
    verdict = numbers.get("loss_change", {}).get("verdict")
    if verdict in (LOWER, HIGHER, None):  # None: a report without a verdict
        columns[0].metric("Held-out loss", before_after, f"{100 * change:+.1f} %", "inverse")
    else:
        draw_metric(columns[0], "Held-out loss", before_after, f"{100 * change:+.1f} %")
    draw_metric(columns[1], "Stage", numbers["stage"], plain(one.model) or None)
    draw_metric(
        columns[2],
        "Trained parameters",
        count(numbers["trainable"]),
        f"{count(numbers['frozen'])} frozen",
    )
    draw_metric(
        columns[3], "Wordpieces", count(numbers["tokens"]), f"{count(numbers['steps'])} steps"
    )
    draw_metric(
        columns[4],
        "Time",
        duration(numbers["seconds"]),
        f"{count(round(numbers['tokens_per_second']))} wordpieces/s",
    )
    if "loss_change" in numbers:  # missing in reports of older trainings
        st.markdown(describe_change(numbers["loss_change"], numbers["held_out_words"]))
    rounding = describe_rounding(numbers)
    if rounding:
        st.markdown(rounding)
    excluded, too_long = "", numbers.get("held_out_too_long", 0)
    if too_long:
        excluded = f" Excluded: {count(too_long)} windows that were too long for the model."
    draw_note(
        f"Loss in nats per character on {count(numbers['held_out_words'])} masked"
        f" words of held-out lines, before and after training.{excluded} A unigram model has"
        f" {fraction(loss['unigram'])}. Losses per character are comparable across"
        " vocabularies; lower is better."
    )
    if one.kept:
        with st.expander(
            f"{len(one.kept)} models saved during training",
            icon=":material/bookmarks:",
        ):
            st.code("\n".join(one.kept), language=None, wrap_lines=True)


def draw_curves(made: Sequence[PretrainedModel], selected: PretrainedModel) -> None:
    """Draw the held-out loss of several models against wordpieces or time, and the table of all."""
    st.subheader("Loss curves")
    able = [one for one in made if one.curve.points]
    if able:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            names = [one.name for one in able]
            selected_first = sorted(names, key=selected.name.__ne__)
            drawn = st.multiselect(
                "Models",
                names,
                selected_first[:FIRST],
                key="pretraining_curves",
                bind="query-params",
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
            lines = {name: one.curve for name, one in shown.items()}
            figure = pretraining.plot_held_out_losses(lines, str(against), among=names)
            draw_figure(figure, "held_out_losses")
            windows_note(list(shown.values()))
    table(made)


def windows_note(shown: Sequence[PretrainedModel]) -> None:
    """State on how many windows the points were measured, and warn if models had different ones."""
    sizes = dict.fromkeys(f"{count(one.curve.asked)} of {count(one.curve.of)}" for one in shown)
    note = f"Each point uses {', '.join(sizes)} held-out windows; evaluation time is not counted."
    if any(one.curve.asked < one.curve.of for one in shown):
        note += (
            " Close models may rank differently on all windows; the table shows the loss on all."
        )
    draw_note(note)
    if not have_same_masked_tokens(shown):
        st.warning(
            (
                "These models were evaluated on different words (another text, sample, seed or"
                " block length): compare the shape of the curves, not the level."
            ),
            icon=":material/info:",
        )


def table(made: Sequence[PretrainedModel]) -> None:
    """Draw the table of all pretrained models, newest first."""
    rows = [(one, one.numbers, one.numbers["loss_per_character"]) for one in made]
    draw_table(
        {
            "model": [one.name for one, _, _ in rows],
            "from": [one.model for one, _, _ in rows],
            "stage": [numbers["stage"] for _, numbers, _ in rows],
            "before": [loss["before"] for _, _, loss in rows],
            "after": [loss["after"] for _, _, loss in rows],
            "wordpieces": [numbers["tokens"] for _, numbers, _ in rows],
            "seconds": [numbers["seconds"] for _, numbers, _ in rows],
            "per second": [numbers["tokens_per_second"] for _, numbers, _ in rows],
            "trained": [numbers["trainable"] for _, numbers, _ in rows],
            "frozen": [numbers["frozen"] for _, numbers, _ in rows],
        },
        key="pretrained_table",
        column_config={
            "model": st.column_config.TextColumn(),
            "from": st.column_config.TextColumn(),
            "before": st.column_config.NumberColumn("loss before", format="%.3f"),
            "after": st.column_config.NumberColumn("loss after", format="%.3f"),
            "seconds": st.column_config.NumberColumn(format="%.0f"),
            "per second": st.column_config.NumberColumn(format="%.0f"),
        },
    )


def draw_details(one: PretrainedModel) -> None:
    """Draw the folded block: settings, command and downloads."""
    header = ("step", "wordpieces", "seconds", "held-out loss per character")
    rows: list[tuple[object, ...]] = [
        (at.step, at.tokens, at.seconds, at.loss) for at in one.curve.points
    ]
    draw_artifact_details(one.artifact, {"held-out-loss.tsv": lambda: tsv(header, rows)})
