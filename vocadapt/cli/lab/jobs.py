"""jobs list, show, cancel, resume; app; demo; and the hidden command `job`, which runs a job."""

import logging
import os
import shlex
import sys
import time
import warnings
from contextlib import ExitStack
from dataclasses import asdict
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypedDict, cast

import vocadapt
import vocadapt.lab.experiments
from vocadapt.cli.command import (
    Answer,
    Command,
    Options,
    group,
    option,
    read_settings,
    setting_options,
)
from vocadapt.cli.tables import format_facts, format_table
from vocadapt.cli.workspace_options import WORKSPACE, output_option
from vocadapt.errors import Canceled
from vocadapt.lab.demo import DemoStepResult, run_demo
from vocadapt.lab.housekeeping.renames import find_id
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.estimates import estimate_seconds_left
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.status import Status, read_metrics
from vocadapt.lab.sharing import Sharing
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.notes import find_name
from vocadapt.lab.workspace.workspace import Workspace, check_workspace_folder
from vocadapt.progress import Progress
from vocadapt.settings import MAX_COUNT

LINES = 20  # lines of the log to show
SHOWN = 3  # metrics shown at the foot of `jobs show`
MAX_NOTE = 60  # characters
STATUS = (  # fields of the status in the JSON answer
    *("fraction", "message", "error", "remedy", "queued", "started", "updated"),
    *("seconds", "outcome"),
)
EXITS = {"done": 0, "failed": 1, "canceled": 130, "interrupted": 130}


class PastState(TypedDict):
    """An earlier state of a job."""

    state: str
    time: float


class JobAnswer(TypedDict):
    """A job; times in seconds since 1970, null if not known."""

    id: str
    name: str
    state: Literal["waiting", "running", "done", "failed", "canceled", "interrupted"]
    step: str
    target: str
    fraction: float | None
    message: str
    error: str
    remedy: str
    queued: float
    started: float | None
    updated: float | None
    seconds: float
    outcome: str
    seconds_left: float | None
    waits_for: str | None
    past: list[PastState]
    checkpoint: bool
    folder: str
    command: str


class ListAnswer(TypedDict):
    """The jobs of a workspace."""

    jobs: list[JobAnswer]


class Metric(TypedDict):
    """Progress of a job at one time."""

    run: int
    seconds: float
    fraction: float | None
    message: str


class ShowAnswer(JobAnswer):
    """A job with its progress over time and its log."""

    metrics: list[Metric]
    log: list[str]


class CancelAnswer(JobAnswer):
    """The canceled job; `had_ended`: it had ended before."""

    had_ended: bool


class ResumeAnswer(JobAnswer):
    """The resumed job; `from_checkpoint`: else it begins again."""

    from_checkpoint: bool


class WorkerAnswer(TypedDict):
    """The exit code of a job."""

    exit: int


class DemoAnswer(TypedDict):
    """The steps of the demo, and its workspace (null if it was removed)."""

    out: str | None
    seconds: float
    steps: list[DemoStepResult]


def _list(options: Options) -> Answer[ListAnswer]:
    workspace = Workspace(Path(options.workspace))
    jobs, rows = list[JobAnswer](), []
    for job in queue.list_jobs(workspace):
        status = job.status()
        jobs.append(_job_to_json(job, status))
        rows.append(_build_row(job, status))
    text = f"There are no jobs in {workspace.root}."
    if rows:
        header = ("id", "state", "step", "target", "name", "progress", "ran", "left", "")
        text = format_table(header, rows)
    return Answer({"jobs": jobs}, text)


def _build_row(job: Job, status: Status) -> tuple[str, ...]:
    # An unknown fraction or duration is an empty cell.
    fraction = "" if status.fraction is None else f"{status.fraction:.0%}"
    seconds_left = estimate_seconds_left(job, status)
    left = "" if seconds_left is None else _format_duration(seconds_left)
    # What it does, waits for, or failed with.
    note = " ".join((status.error or status.message).split())
    if len(note) > MAX_NOTE:
        note = f"{note[: MAX_NOTE - 1]}…"
    if status.state == "done":
        note = ""
    elif status.state == "waiting":
        before = job.waits_for()
        note = f"behind {before.id}" if before else "starting"
    return (
        job.id,
        status.title,
        job.spec.step,
        f"{job.target.parent.name}/{job.target.name}",
        find_name(job.workspace, find_id(job)),
        fraction,
        _format_duration(status.seconds),
        left,
        note,
    )


def _show(options: Options) -> Answer[ShowAnswer]:
    job = _find_job(options)
    status, metrics, log = job.status(), read_metrics(job.folder), job.log(options.lines)
    values = _job_to_json(job, status)

    # 1. The facts, with times as dates.
    facts = dict[str, Any]()
    for name, value in values.items():
        if value in (None, "", []) or name == "past":
            continue
        if name in ("queued", "started", "updated") and value:
            value = _format_date(cast(float, value))
        facts[name] = value
    if status.past:
        facts["earlier"] = ", ".join(f"{state} {_format_date(when)}" for state, when in status.past)
    parts = [format_facts(facts)]

    # 2. The last metrics, and the log.
    if metrics:
        columns = ("run", "seconds", "fraction", "message")
        last = list(map(itemgetter(*columns), metrics[-SHOWN:]))
        parts.append(
            f"The last {len(last)} of {len(metrics)} lines of metrics.jsonl\n"
            f"{format_table(columns, last)}"
        )
    if log:
        parts.append(f"Log\n{log}")
    else:
        parts.append("The log is empty.")
    answer: ShowAnswer = {
        **values,
        "metrics": cast(list[Metric], metrics),
        "log": log.splitlines(),
    }
    return Answer(answer, "\n\n".join(parts))


def _cancel(options: Options) -> Answer[CancelAnswer]:
    job = _find_job(options)
    status = job.status()
    # Canceling a job that has ended is not an error.
    ended = not status.alive
    text = f"{job.id} has already ended: {status.title}."
    if not ended:
        status = job.cancel()
        text = f"{job.id}: {status.state}."
    return Answer({**_job_to_json(job, status), "had_ended": ended}, text, int(status.alive))


def _resume(options: Options) -> Answer[ResumeAnswer]:
    job = _find_job(options)
    from_checkpoint = job.has_checkpoint
    start = "from the beginning: it had no checkpoint"
    if from_checkpoint:
        start = "from its checkpoint"
    queue.resume(Workspace(Path(options.workspace)), job)
    status = job.status()
    # With --wait, the exit code is that of the job.
    code = 0
    if options.wait:
        status = _follow(job, options.progress)
        code = EXITS.get(status.state, 130)
    lines = [f"{job.id}: {status.title}, {start}.", *filter(None, (status.error, status.remedy))]
    return Answer(
        {**_job_to_json(job, status), "from_checkpoint": from_checkpoint}, "\n".join(lines), code
    )


def _find_job(options: Options) -> Job:
    return queue.find_job(Workspace(Path(options.workspace)), options.id)


def _follow(job: Job, progress: Progress) -> Status:
    """Wait for the end of a job; Ctrl-C stops waiting, but not the job."""
    try:
        while (status := job.status()).alive:
            progress(status.fraction, status.message or status.state)
            time.sleep(0.2)
    except (KeyboardInterrupt, Canceled):
        status = job.status()
    return status


def _job_to_json(job: Job, status: Status) -> JobAnswer:
    """Convert a job to JSON values."""
    # A waiting job has no progress yet: name the job that it waits for.
    before = job.waits_for() if status.state == "waiting" else None
    values = {
        "id": job.id,
        "name": find_name(job.workspace, find_id(job)),
        "state": status.state,
        "step": job.spec.step,
        "target": str(job.target),
        **{name: getattr(status, name) for name in STATUS},
        "seconds_left": estimate_seconds_left(job, status),
        "waits_for": before and before.id,
        "past": [{"state": state, "time": when} for state, when in status.past],
        "checkpoint": job.has_checkpoint,
        "folder": str(job.folder),
        "command": job.command,
    }
    return cast(JobAnswer, values)


def _format_duration(seconds: float) -> str:
    """Format a duration as h:mm:ss."""
    whole_seconds = round(seconds)
    return f"{whole_seconds // 3600}:{whole_seconds // 60 % 60:02}:{whole_seconds % 60:02}"


def _format_date(when: float) -> str:
    return datetime.fromtimestamp(when).strftime("%Y-%m-%d %H:%M:%S")


JOB_OPTIONS = (option("id", metavar="ID", help="id of a job, as listed by jobs list"), WORKSPACE)
LIST = Command(_list, (WORKSPACE,))
SHOW = Command(
    _show,
    (
        *JOB_OPTIONS,
        option(
            "--lines",
            between=(1, MAX_COUNT),
            default=LINES,
            metavar="N",
            help=f"number of lines of the log (default {LINES})",
        ),
    ),
)
CANCEL = Command(_cancel, JOB_OPTIONS)
RESUME = Command(
    _resume,
    (
        *JOB_OPTIONS,
        option(
            "--wait",
            action="store_true",
            help="follow the job to its end; Ctrl-C leaves it running",
        ),
    ),
)


SERVER = ("-P", "-m", "vocadapt.ui.shell.server")


def _serve(options: Options) -> Answer[None]:
    """Replace this process with the server: the command line does not import the pages."""
    # 1. The server's command line, without options that were not given: the server has the defaults.
    #    -P: no module is imported from the working folder, which may be that of a model.
    command = [sys.executable, *SERVER]
    command += ["--workspace", str(Workspace(Path(options.workspace)).root)]
    for flag in ("--port", "--address"):
        value = getattr(options, flag.removeprefix("--"))
        if value is not None:
            command += [flag, str(value)]
    command += ["--sharing", strict_json.dumps(asdict(read_settings(options, Sharing)))]
    if options.no_browser:
        command.append("--no-browser")
    # 2. The server must import the same package from any working directory.
    package = str(Path(vocadapt.__file__).parents[1])
    paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    sys.stderr.flush()
    os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": paths})


def _run_job(options: Options) -> Answer[WorkerAnswer]:
    from vocadapt.lab.jobs.worker import run_job

    # The log of a job is its stderr, and includes the warnings of libraries.
    logging.basicConfig(
        force=True, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s"
    )
    logging.getLogger("vocadapt").setLevel(logging.INFO)
    logging.captureWarnings(True)
    warnings.simplefilter("default")
    code = run_job(Path(options.folder))
    return Answer({"exit": code}, f"exit {code}", code)


def _demo(options: Options) -> Answer[DemoAnswer]:
    start = time.perf_counter()
    if options.out:
        check_workspace_folder(Path(options.out))
    with ExitStack() as stack:
        # Without --out the workspace is removed when its steps are done.
        folder = options.out or stack.enter_context(TemporaryDirectory(prefix="vocadapt-demo-"))
        try:
            steps = list(run_demo(Workspace(Path(folder)), options.progress))
        except Canceled:
            if not options.out:
                raise
            raise Canceled(
                f"{folder} keeps the finished artifacts; run the same command again to make the"
                " others"
            ) from None
    seconds = time.perf_counter() - start
    out = options.out
    advice = "The results were removed; keep them with --out DIR."
    if out:
        out = str(Path(out))
        advice = f"Open them: python -m vocadapt app --workspace {shlex.quote(out)}"
    lines = []
    for step in steps:
        lines.append(f"{step.step} ({step.seconds:.1f} s): {step.did}")
        if step.command:
            lines.append(f"    {step.command}")
    lines.append(f"{seconds:.0f} s in total. {advice}")
    return Answer(
        {"out": out, "seconds": seconds, "steps": steps},
        "\n".join(lines),
    )


APP = Command(
    _serve,
    (
        WORKSPACE,
        option(
            "--port",
            between=(1, 65_535),
            metavar="N",
            help="port to serve on (default 8501, or the next free one)",
        ),
        option(
            "--address",
            metavar="A",
            help="network address to serve on (default: 127.0.0.1, this machine only)",
        ),
        option("--no-browser", action="store_true", help="do not open a browser window"),
        group(
            "sharing the lab",
            setting_options(Sharing),
            about="docs/deploy.md explains how to serve a class.",
        ),
    ),
)
JOB = Command(_run_job, (option("folder", metavar="FOLDER", help="folder of a job"),))
DEMO = Command(
    _demo,
    (
        output_option(
            "--out",
            metavar="DIR",
            help="folder in which to keep the workspace (default: a temporary folder)",
        ),
    ),
)
