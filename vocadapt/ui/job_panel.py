"""Jobs on the page: progress while one is alive, why it failed when it did. The page never waits for a job.

A panel is a fragment that reruns every second only while its job is alive, and reruns the page once when the job has ended.
"""

from collections.abc import Collection

import streamlit as st

from vocadapt.lab import jobs
from vocadapt.lab.jobs import Job
from vocadapt.lab.spec import Spec
from vocadapt.lab.status import Status
from vocadapt.lab.steps import STEPS
from vocadapt.lab.workspace import Workspace
from vocadapt.ui.markup import plain
from vocadapt.ui.numbers import duration

EVERY = 1.0  # seconds between two looks at a living job
RECENT = 12  # jobs looked at, newest first
DISMISSED = "dismissed_job"


def start(workspace: Workspace, spec: Spec, name: str) -> None:
    """Start a job and draw the page again, now with its panel."""
    jobs.start(workspace, spec, name)
    st.rerun()


def job_panel(workspace: Workspace, steps: Collection[str]) -> None:
    """Draw the newest job of these steps, unless it is done or was dismissed."""
    mine = (job for job in jobs.list_jobs(workspace)[:RECENT] if job.spec.step in steps)
    job = next(mine, None)
    if job is None or st.session_state.get(DISMISSED) == job.id:
        return
    status = job.status()
    if status.alive:
        st.fragment(_living, run_every=EVERY)(job)
    elif status.state != "done":
        _ended(workspace, job, status)


def running_jobs(workspace: Workspace) -> None:
    """Draw the living jobs, small, for the sidebar."""
    alive = [job for job in jobs.list_jobs(workspace)[:RECENT] if job.status().alive]
    if alive:
        st.fragment(_small, run_every=EVERY)(alive)


def _living(job: Job) -> None:
    status = job.status()
    if not status.alive:
        st.rerun()
    with st.container(border=True, key="job_panel"):
        words, button = st.columns([5, 1], vertical_alignment="center")
        words.markdown(f"**{STEPS[job.spec.step].about}** · {plain(job.target.name)} · {_pace(status)}")
        if button.button("Cancel", key=f"cancel_{job.id}", width="stretch", disabled=job.cancel_asked):
            job.cancel(grace=0)
            st.rerun(scope="fragment")
        st.progress(status.fraction or 0.0, text=plain(status.message) or "starting …")


def _small(alive: list[Job]) -> None:
    for job in alive:
        status = job.status()
        if not status.alive:
            st.rerun()
        with st.container(border=True):
            st.caption("WAITING" if status.state == "waiting" else "RUNNING")
            st.markdown(f"**{STEPS[job.spec.step].about}** {plain(job.target.name)}")
            st.progress(status.fraction or 0.0, text=plain(status.message) or "starting …")


def _ended(workspace: Workspace, job: Job, status: Status) -> None:
    """A job that failed, was cancelled or was interrupted, and the way on."""
    with st.container(border=True, key="job_panel"):
        say = st.info if status.state == "cancelled" else st.error
        say(f"{STEPS[job.spec.step].about} · {plain(job.target.name)} · {status.state}", icon=":material/info:")
        for line in filter(None, (status.error, status.remedy)):
            st.text(line)
        with st.container(horizontal=True):
            if st.button("Resume", key=f"resume_{job.id}"):
                jobs.resume(workspace, job)
                st.rerun()
            if st.button("Dismiss", key=f"dismiss_{job.id}"):
                st.session_state[DISMISSED] = job.id
                st.rerun()
        if log := job.log():
            with st.expander("Log"):
                st.code(log, language=None)


def _pace(status: Status) -> str:
    """How long it runs and how long it will."""
    if status.state == "waiting":
        return "waiting for the job before it"
    unsaid = status.seconds_left is not None and "left" not in status.message  # some steps say it themselves, and better
    left = f", about {duration(status.seconds_left or 0)} left" if unsaid else ""
    return f"{duration(status.seconds)}{left}"
