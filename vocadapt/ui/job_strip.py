"""The strip in the header of every page: the job that runs, how far it is, how long it will take, and how many wait behind it.

It lies in Streamlit's header, out of the page's flow: a job that starts or ends moves nothing.
"""

import html

import streamlit as st

from vocadapt.lab import jobs
from vocadapt.lab.jobs import Job
from vocadapt.lab.status import Status
from vocadapt.lab.steps import STEPS
from vocadapt.lab.workspace import Workspace
from vocadapt.text.visible import visible
from vocadapt.ui.job_panel import EVERY, PAGE, RECENT, by_urgency, here
from vocadapt.ui.markup_style import FILL, INK
from vocadapt.ui.numbers import duration

KEY = "job_strip"
STYLE = f"""<style>
.st-key-{KEY}{{position:fixed;top:.75rem;right:5.5rem;width:min(34rem,48vw);height:2.25rem;z-index:999991;pointer-events:none;
 align-items:center;flex-wrap:nowrap}}
.st-key-{KEY} a{{pointer-events:auto}}
.va-strip{{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:.1rem .8rem;font-size:.84rem;line-height:1.3;
 font-variant-numeric:tabular-nums}}
.va-strip b{{font-weight:600;color:{INK["source"]}}}
.va-strip span{{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}}
.va-strip .va-far{{color:light-dark(#5C6873,#A9B4BE)}}
.va-strip i{{grid-column:1/-1;display:block;height:.22rem;border-radius:.11rem;overflow:hidden;
 background:light-dark(#EDF0F3,#2A343E)}}
.va-strip i u{{display:block;height:100%;border-radius:.11rem;background:{FILL["source"]}}}
</style>"""


def draw(workspace: Workspace) -> None:
    """Draw the strip; it looks again every second while a job is alive."""
    alive = any(job.status().alive for job in jobs.list_jobs(workspace, RECENT))
    st.fragment(_strip, run_every=EVERY if alive else None)(workspace)


def strip_html(job: Job, status: Status, waiting: int) -> str:
    """HTML of one line and a bar: the step, the name of what it makes, how far, how long, how many wait."""
    share = min(max(status.fraction or 0.0, 0.0), 1.0)
    name = f"<b>{html.escape(STEPS[job.spec.step].about)}</b> · {html.escape(visible(job.target.name))}"
    far = " · ".join(filter(None, (_how_far(job, status, share), f"{waiting} waiting" if waiting else "")))
    return (
        f'<div class="va-strip" data-testid="job-strip" role="status"><span>{name}</span>'
        f'<span class="va-far">{html.escape(far)}</span><i><u style="width:{100 * share:.0f}%"></u></i></div>'
    )


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
            st.html(STYLE)
            return
        first = alive[0]
        st.html(STYLE + strip_html(first, stands[first.id], len(alive) - 1))
        st.page_link(PAGE, label="Details", query_params={"job": first.id, **here()}, width="content")
