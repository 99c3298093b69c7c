"""A fine-tuning that goes on: loss and dev score as they come, how fast, how long still; and the
queue behind it.
"""

import streamlit as st

from vocadapt.analysis import result_figures
from vocadapt.lab.finetuning import watched
from vocadapt.lab.jobs import Job
from vocadapt.lab.spec import FinetuneStep
from vocadapt.lab.status import Status
from vocadapt.lab.steps import CHECKPOINT
from vocadapt.lab.workspace import Workspace
from vocadapt.ui import job_panel
from vocadapt.ui.numbers import count, duration, fraction

STEP = "finetune"
STEADY = 4  # points of a curve between two drawings, so that it does not flicker


def running(workspace: Workspace) -> None:
    """Draw the living jobs of this step, and the newest of those that have ended where it is
    unfinished, with its way on.
    """
    job_panel.running(workspace, STEP, "finetune_live", _told)


def _told(job: Job, status: Status) -> None:
    """The job that runs: what it is, how far, its curves."""
    words, button = st.columns([5, 1], vertical_alignment="center")
    left = status.seconds_left
    all_left = "" if left is None else f", about **{duration(left)}** left in all"
    words.markdown(
        f"{job_panel.CHIPS[status.state]} {job_panel.title(job)} ·"
        f" {duration(status.seconds)}{all_left}"
    )
    with button:
        job_panel.cancel_button(job, "cancel")
    job_panel.bar(status)
    seeds = watched(job.folder / CHECKPOINT)
    settings = job.spec.settings
    if not seeds or not isinstance(settings, FinetuneStep):
        return
    now = list(seeds)[-1]
    live = seeds[now]
    done = live.curve[-1][0] / live.epoch if live.curve and live.epoch else 0.0
    best = "no dev score yet"
    if live.dev:
        best = f"best dev {fraction(max(live.dev))} after epoch {live.dev.index(max(live.dev)) + 1}"
    st.markdown(f"**{now}** · epoch {done:.1f} of {count(settings.finetune.epochs)} · {best}")
    loss, dev = st.columns(2, gap="large")
    curves = {
        name: one.curve[: max(2, len(one.curve) // STEADY * STEADY)] for name, one in seeds.items()
    }
    if any(len(curve) > 1 for curve in curves.values()):
        with loss:
            st.plotly_chart(
                result_figures.losses(curves),
                key=f"loss_{job.id}",
                config={"displayModeBar": False},
            )
    scores = {name: one.dev for name, one in seeds.items() if one.dev}
    if scores:
        with dev:
            figure = result_figures.dev_scores(scores, "score", among=list(seeds))
            st.plotly_chart(figure, key=f"dev_{job.id}", config={"displayModeBar": False})
