"""Live view of a running pretraining: held-out loss, speed, remaining time, saved models, and the
queue.
"""

import streamlit as st

from vocadapt.analysis.figures import pretraining
from vocadapt.lab.jobs.queue import Job
from vocadapt.lab.jobs.status import Status
from vocadapt.lab.steps.checkpoints import CHECKPOINT
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.masked.continued import list_intermediate_models
from vocadapt.training.masked.validation import read_curve
from vocadapt.ui.components.blocks import draw_figure
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count, duration, fraction
from vocadapt.ui.jobs import panel

STEP = "continued"


def draw_running(workspace: Workspace) -> None:
    """Draw the running jobs of this step, and the newest ended one if it can be resumed."""
    panel.draw_running(workspace, STEP, "pretraining_live", _draw_job)


def _draw_job(job: Job, status: Status) -> None:
    """Draw a running job: its stage, its progress, and its held-out loss so far."""
    stage = job.spec.settings.further.stage
    line = (
        f"{panel.CHIPS[status.state]} {panel.title(job)} · stage **{stage}** ·"
        f" {duration(status.seconds)}"
    )
    panel.draw_running_job(job, status, line)
    curve = read_curve(job.folder / CHECKPOINT)
    if not curve.points:
        return
    first, last = curve.points[0].loss, curve.points[-1].loss
    pace = ""
    if curve.tokens_per_second:
        pace = f" · **{count(round(curve.tokens_per_second))}** wordpieces per second"
    st.markdown(
        f"Held-out loss per character **{fraction(first)} → {fraction(last)}** after"
        f" {count(curve.points[-1].tokens)} wordpieces{pace} :small[:gray[on"
        f" {count(curve.asked)} of {count(curve.of)} held-out windows]]"
    )
    if len(curve.points) > 1:
        figure = pretraining.plot_held_out_losses({job.target.name: curve}, height=220)
        draw_figure(figure, f"held_out_{job.id}")
    kept = list_intermediate_models(job.folder / CHECKPOINT)
    if kept:
        st.markdown(
            f":small[{len(kept)} saved during training; fine-tuning can already use the last:"
            f" {plain(str(kept[-1]))}]"
        )
