"""Status of the running job in the header of every page: progress, remaining time, number of
waiting jobs.

It is positioned in Streamlit's header, so that the page does not move when a job starts or ends.
"""

import streamlit as st

from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.status import Status
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import markup
from vocadapt.ui.components.number_formats import duration
from vocadapt.ui.frame import address
from vocadapt.ui.jobs.panel import EVERY, JOB, PAGE, RECENT, sort_by_urgency

KEY = "job_strip"  # markup_style positions this container


def draw(workspace: Workspace) -> None:
    """Draw the strip; it is updated every second while a job runs or waits."""
    alive = any(job.status().alive for job in queue.list_jobs(workspace, RECENT))
    st.fragment(_draw_strip, run_every=EVERY if alive else None)(workspace)


def strip_of(job: queue.Job, status: Status, waiting: int) -> markup.Strip:
    """Build the strip of a job: step, name of the result, progress, time, number of waiting
    jobs.
    """
    done = min(max(status.fraction or 0.0, 0.0), 1.0)
    progress = "waiting"
    if status.state != "waiting":
        time = f"{duration(status.seconds)} so far"
        # The pace of a step that is not steady varies too much for an estimate.
        if job.spec.declaration.steady and status.seconds_left is not None:
            time = f"about {duration(status.seconds_left)} left"
        progress = f"{100 * done:.0f} % · {time}"
    if waiting:
        progress += f" · {waiting} waiting"
    return markup.Strip(job.spec.declaration.about, job.target.name, progress, done)


def _draw_strip(workspace: Workspace) -> None:
    """Draw the running job, or the first waiting one; an empty strip if there is none, so that the
    page does not move.
    """
    found = queue.list_jobs(workspace, RECENT)
    stands = {job.id: job.status() for job in found}
    alive = [job for job in sort_by_urgency(found, stands) if stands[job.id].alive]
    with st.container(key=KEY, horizontal=True, vertical_alignment="center"):
        if not alive:
            markup.draw_strip(None)
            return
        first = alive[0]
        markup.draw_strip(strip_of(first, stands[first.id], len(alive) - 1))
        st.page_link(
            PAGE, label="Details", query_params={JOB: first.id, **address.here()}, width="content"
        )
