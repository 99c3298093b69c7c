"""jobs list, show, cancel, resume; app; demo; and the hidden command `job`, which runs a job."""

import logging
import os
import shlex
import sys
import time
import warnings
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

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
from vocadapt.cli.tables import format_facts
from vocadapt.cli.workspace_options import WORKSPACE, output_option
from vocadapt.errors import Canceled
from vocadapt.lab.demo import DemoStepResult, run_demo
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.listing import COLUMNS, METRICS, JobReport, Metric, describe_job
from vocadapt.lab.jobs.status import Status, read_metrics
from vocadapt.lab.sharing import Sharing
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.workspace import Workspace, check_workspace_folder
from vocadapt.progress import Progress
from vocadapt.report.formats import format_time
from vocadapt.report.table import Table
from vocadapt.report.terminal import write_terminal
from vocadapt.settings import MAX_COUNT

LINES = 20  # lines of the log to show
SHOWN = 3  # metrics shown at the foot of `jobs show`
EXITS = {"done": 0, "failed": 1, "canceled": 130, "interrupted": 130}


@dataclass(frozen=True)
class Jobs:
    """The jobs of a workspace."""

    jobs: tuple[JobReport, ...]


@dataclass(frozen=True)
class JobWithLog(JobReport):
    """A job with its progress over time and its log."""

    metrics: tuple[Metric, ...]
    log: tuple[str, ...]


@dataclass(frozen=True)
class CanceledJob(JobReport):
    """The canceled job; `had_ended`: it had ended before."""

    had_ended: bool


@dataclass(frozen=True)
class ResumedJob(JobReport):
    """The resumed job; `from_checkpoint`: else it begins again."""

    from_checkpoint: bool


@dataclass(frozen=True)
class ExitCode:
    """The exit code of a job."""

    exit: int


@dataclass(frozen=True)
class Demo:
    """The steps of the demo, and its workspace (null if it was removed)."""

    out: str | None
    seconds: float
    steps: tuple[DemoStepResult, ...]


def _list(options: Options) -> Answer[Jobs]:
    workspace = Workspace(Path(options.workspace))
    jobs = tuple(describe_job(job, job.status()) for job in queue.list_jobs(workspace))
    text = f"There are no jobs in {workspace.root}."
    if jobs:
        text = write_terminal(Table("", COLUMNS, jobs))
    return Answer(Jobs(jobs), text)


def _show(options: Options) -> Answer[JobWithLog]:
    job = _find_job(options)
    report = describe_job(job, job.status())
    log = job.log(options.lines)
    metrics = tuple(
        Metric(one["run"], one["seconds"], one["fraction"], one["message"])
        for one in read_metrics(job.folder)
    )

    # 1. The facts, with times as dates.
    facts = dict(vars(report))
    for name in ("queued", "started", "updated"):
        facts[name] = format_time(facts[name])
    facts["past"] = ", ".join(f"{one.state} {format_time(one.time)}" for one in report.past)
    parts = [
        format_facts({name: value for name, value in facts.items() if value not in (None, "")})
    ]

    # 2. The last metrics, and the log.
    if metrics:
        last = metrics[-SHOWN:]
        title = f"The last {len(last)} of {len(metrics)} lines of metrics.jsonl"
        parts.append(write_terminal(Table(title, METRICS, last)))
    parts.append(f"Log\n{log}" if log else "The log is empty.")
    answer = JobWithLog(**vars(report), metrics=metrics, log=tuple(log.splitlines()))
    return Answer(answer, "\n\n".join(parts))


def _cancel(options: Options) -> Answer[CanceledJob]:
    job = _find_job(options)
    status = job.status()
    # Canceling a job that has ended is not an error.
    ended = not status.alive
    text = f"{job.id} has already ended: {status.title}."
    if not ended:
        status = job.cancel()
        text = f"{job.id}: {status.state}."
    answer = CanceledJob(**vars(describe_job(job, status)), had_ended=ended)
    return Answer(answer, text, int(status.alive))


def _resume(options: Options) -> Answer[ResumedJob]:
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
    answer = ResumedJob(**vars(describe_job(job, status)), from_checkpoint=from_checkpoint)
    return Answer(answer, "\n".join(lines), code)


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
    # 1. The server's command line, without options that were not given: the server has the
    #    defaults. -P: no module is imported from the working folder, which may be that of a model.
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


def _run_job(options: Options) -> Answer[ExitCode]:
    from vocadapt.lab.jobs.worker import run_job

    # The log of a job is its stderr, and includes the warnings of libraries.
    logging.basicConfig(
        force=True, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s"
    )
    logging.getLogger("vocadapt").setLevel(logging.INFO)
    logging.captureWarnings(True)
    warnings.simplefilter("default")
    code = run_job(Path(options.folder))
    return Answer(ExitCode(code), f"exit {code}", code)


def _demo(options: Options) -> Answer[Demo]:
    start = time.perf_counter()
    if options.out:
        check_workspace_folder(Path(options.out))
    with ExitStack() as stack:
        # Without --out the workspace is removed when its steps are done.
        folder = options.out or stack.enter_context(TemporaryDirectory(prefix="vocadapt-demo-"))
        try:
            steps = tuple(run_demo(Workspace(Path(folder)), options.progress))
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
    return Answer(Demo(out, seconds, steps), "\n".join(lines))


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
