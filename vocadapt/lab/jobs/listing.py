"""A job as a value, for readers and programs, and the columns of a list of jobs."""

from dataclasses import dataclass
from typing import Literal, cast

from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.status import Status
from vocadapt.lab.workspace.notes import find_name
from vocadapt.report.table import Column

STATE = Column("title", "State")
NAME = Column("name", "Name", "Its display name, if it was given one.")
RAN = Column("seconds", "Ran", "Run time, for a resumed job since it was resumed.", "seconds")
COLUMNS = (
    Column("id", "Id"),
    STATE,
    Column("step", "Step"),
    Column("result", "Result", "The artifact that it makes."),
    NAME,
    Column("fraction", "Progress", format="percent"),
    RAN,
    Column("seconds_left", "Left", "Estimated time that it still needs.", "seconds"),
    Column("activity", "Activity", "What it does, waits for, or failed with."),
)
METRICS = (
    Column("run", "Run", "1 for the first run; more for a resumed job.", "number"),
    Column("seconds", "Seconds", "Time since the start of the run.", "number"),
    Column("fraction", "Progress", format="percent"),
    Column("message", "Message"),
)
MAX_ACTIVITY = 60  # characters

State = Literal["waiting", "running", "done", "failed", "canceled", "interrupted"]


@dataclass(frozen=True)
class PastState:
    """An earlier state of a job."""

    state: str
    time: float


@dataclass(frozen=True)
class Metric:
    """Progress of a job at one time."""

    run: int
    seconds: float
    fraction: float | None
    message: str


@dataclass(frozen=True)
class JobReport:
    """A job; times in seconds since 1970, 0 for one that has not come; null if not known."""

    id: str
    name: str
    state: State
    step: str
    target: str
    fraction: float | None
    message: str
    error: str
    remedy: str
    queued: float
    started: float
    updated: float
    seconds: float
    outcome: str
    seconds_left: float | None
    waits_for: str | None
    past: tuple[PastState, ...]
    checkpoint: bool
    folder: str
    command: str

    @property
    def title(self) -> str:
        """What to show as its state: a run that learned nothing is not "done"."""
        return self.outcome or self.state

    @property
    def result(self) -> str:
        """Kind and name of the artifact that it makes."""
        return "/".join(self.target.split("/")[-2:])

    @property
    def activity(self) -> str:
        """What it does, waits for, or failed with, in one short line."""
        if self.state == "done":
            return ""
        if self.state == "waiting":
            return f"behind {self.waits_for}" if self.waits_for else "starting"
        text = " ".join((self.error or self.message).split())
        if len(text) > MAX_ACTIVITY:
            return f"{text[: MAX_ACTIVITY - 1]}…"
        return text


def describe_job(job: Job, status: Status) -> JobReport:
    """Return a job as a value."""
    # A waiting job has no progress yet: name the job that it waits for.
    before = job.waits_for() if status.state == "waiting" else None
    return JobReport(
        id=job.id,
        name=find_name(job.workspace, f"jobs/{job.id}"),
        state=cast(State, status.state),
        step=job.spec.step,
        target=str(job.target),
        fraction=status.fraction,
        message=status.message,
        error=status.error,
        remedy=status.remedy,
        queued=status.queued,
        started=status.started,
        updated=status.updated,
        seconds=status.seconds,
        outcome=status.outcome,
        seconds_left=status.estimate_seconds_left(),
        waits_for=before.id if before else None,
        past=tuple(PastState(state, when) for state, when in status.past),
        checkpoint=job.has_checkpoint,
        folder=str(job.folder),
        command=job.command,
    )
