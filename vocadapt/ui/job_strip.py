"""The strip in the header of every page: the job that runs, how far it is, how long it will take, and how many wait behind it.

It lies in Streamlit's header, out of the page's flow: a job that starts or ends moves nothing.
"""

import streamlit as st

from vocadapt.lab import jobs
from vocadapt.lab.jobs import Job
from vocadapt.lab.status import Status
from vocadapt.lab.steps import STEPS
from vocadapt.lab.workspace import Workspace
from vocadapt.ui import markup
from vocadapt.ui.address import here
from vocadapt.ui.job_panel import EVERY, JOB, PAGE, RECENT, by_urgency
from vocadapt.ui.markup import Strip
from vocadapt.ui.numbers import duration

KEY = "job_strip"  # markup_style places it by this


def draw(workspace: Workspace) -> None:
    """Draw the strip; it looks again every second while a job is alive."""
    alive = any(job.status().alive for job in jobs.list_jobs(workspace, RECENT))
    st.fragment(_strip, run_every=EVERY if alive else None)(workspace)


def strip_of(job: Job, status: Status, waiting: int) -> Strip:
    """What the strip says of a job: the step, the name of what it makes, how far, how long, how many wait."""
    share = min(max(status.fraction or 0.0, 0.0), 1.0)
    far = " · ".join(filter(None, (_how_far(job, status, share), f"{waiting} waiting" if waiting else "")))
    return Strip(STEPS[job.spec.step].about, job.target.name, far, share)


def _how_far(job: Job, status: Status, share: float) -> str:
    """The percentage, and the time left if the step keeps one pace, else the time passed."""
    if status.state == "waiting":
        return "waiting"
    left = status.seconds_left if STEPS[job.spec.step].steady else None
    time = f"{duration(status.seconds)} so far" if left is None else f"about {duration(left)} left"
    return f"{100 * share:.0f} % · {time}"


def _strip(workspace: Workspace) -> None:
    """The first of the living jobs; an empty strip if there is none, so that the page stays where it is."""
    found = jobs.list_jobs(workspace, RECENT)
    stands = {job.id: job.status() for job in found}
    alive = [job for job in by_urgency(found, stands) if stands[job.id].alive]
    with st.container(key=KEY, horizontal=True, vertical_alignment="center"):
        if not alive:
            markup.strip(None)
            return
        first = alive[0]
        markup.strip(strip_of(first, stands[first.id], len(alive) - 1))
        st.page_link(PAGE, label="Details", query_params={JOB: first.id, **here()}, width="content")
