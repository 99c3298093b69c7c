"""Live view of a running fine-tuning: loss, dev score, remaining time, and the queue."""

import streamlit as st

from vocadapt.analysis.figures import results
from vocadapt.lab.jobs.queue import Job
from vocadapt.lab.jobs.status import Status
from vocadapt.lab.steps.checkpoints import CHECKPOINT
from vocadapt.lab.steps.finetune import FinetuneStep, read_live_runs
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components.blocks import draw_figure
from vocadapt.ui.components.number_formats import count, duration, fraction
from vocadapt.ui.jobs import panel

STEP = "finetune"
REDRAW = 4  # points of a curve between two drawings, so that it does not flicker


def draw_running(workspace: Workspace) -> None:
    """Draw the running jobs of this step, and the newest ended one if it can be resumed."""
    panel.draw_running(workspace, STEP, "finetune_live", _draw_job)


def _draw_job(job: Job, status: Status) -> None:
    """Draw a running job: its progress and its curves."""
    line = f"{panel.CHIPS[status.state]} {panel.title(job)} · {duration(status.seconds)}"
    if status.seconds_left is not None:
        line += f", about **{duration(status.seconds_left)}** left in total"
    panel.draw_running_job(job, status, line)
    seeds = read_live_runs(job.folder / CHECKPOINT)
    settings = job.spec.settings
    if not seeds or not isinstance(settings, FinetuneStep):
        return
    now = list(seeds)[-1]
    live = seeds[now]
    done, best = 0.0, "no dev score yet"
    if live.curve and live.epoch:
        done = live.curve[-1][0] / live.epoch
    if live.dev:
        best = f"best dev {fraction(max(live.dev))} after epoch {live.dev.index(max(live.dev)) + 1}"
    st.markdown(f"**{now}** · epoch {done:.1f} of {count(settings.finetune.epochs)} · {best}")
    loss, dev = st.columns(2, gap="large")
    curves = {
        name: one.curve[: max(2, len(one.curve) // REDRAW * REDRAW)] for name, one in seeds.items()
    }
    if any(len(curve) > 1 for curve in curves.values()):
        with loss:
            draw_figure(results.plot_losses(curves), f"loss_{job.id}")
    scores = {name: one.dev for name, one in seeds.items() if one.dev}
    if scores:
        with dev:
            figure = results.plot_dev_scores(scores, "score", among=list(seeds))
            draw_figure(figure, f"dev_{job.id}")
