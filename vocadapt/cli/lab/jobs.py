"""jobs list, show, cancel, resume."""

import time
from argparse import Namespace
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.parser import Parser, whole
from vocadapt.cli.tables import format_facts, format_table
from vocadapt.errors import Canceled
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.status import Status, read_metrics
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.progress import Progress
from vocadapt.settings import MAX_COUNT

LINES = 20  # of the log and of the metrics that people are shown
SHOWN = 3  # metrics shown at the foot of `jobs show`
EXITS = {"done": 0, "failed": 1, "canceled": 130, "interrupted": 130}


def _open_workspace(options: Namespace) -> Workspace:
    return Workspace(Path(options.workspace))


def _add_list_options(parser: Parser) -> None:
    parser.add_argument(
        "--workspace",
        metavar="W",
        default="workspace",
        help="workspace folder (default ./workspace)",
    )


def _add_job_options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", help="id of a job, as listed by jobs list")
    _add_list_options(parser)


def _add_show_options(parser: Parser) -> None:
    _add_job_options(parser)
    parser.add_argument(
        "--lines",
        type=whole(1, MAX_COUNT),
        default=LINES,
        metavar="N",
        help=f"number of lines of the log (default {LINES})",
    )


def _add_resume_options(parser: Parser) -> None:
    _add_job_options(parser)
    parser.add_argument(
        "--wait", action="store_true", help="follow the job to its end; Ctrl-C leaves it running"
    )


def _list(options: Namespace, progress: Progress) -> Answer:
    found = [(job, job.status()) for job in queue.list_jobs(_open_workspace(options))]
    answer = {"jobs": [_job_to_json(job, status) for job, status in found]}
    header = ("id", "state", "step", "target", "progress", "ran", "left", "")
    rows = [(job.id, *_render_row(job, status)) for job, status in found]
    return Answer(
        answer,
        format_table(header, rows)
        if rows
        else f"There are no jobs in {_open_workspace(options).root}.",
    )


def _render_row(job: Job, status: Status) -> tuple[str, ...]:
    share = "" if status.fraction is None else f"{status.fraction:.0%}"
    left = "" if status.seconds_left is None else _format_duration(status.seconds_left)
    target = f"{job.target.parent.name}/{job.target.name}"
    return (
        status.state,
        job.spec.step,
        target,
        share,
        _format_duration(status.seconds),
        left,
        _describe_state(job, status),
    )


def _describe_state(job: Job, status: Status) -> str:
    """Describe in a few words what a job does, waits for, or failed with."""
    if status.state == "waiting":
        before = job.waits_for()
        return f"behind {before.id}" if before else "starting"
    said = " ".join((status.error or status.message).split()) if status.state != "done" else ""
    return said if len(said) <= 60 else f"{said[:59]}…"


def _show(options: Namespace, progress: Progress) -> Answer:
    job = queue.find_job(_open_workspace(options), options.id)
    status, metrics, log = job.status(), read_metrics(job.folder), job.log(options.lines)
    values = _job_to_json(job, status)
    shown = {
        key: value for key, value in values.items() if value not in (None, "", []) and key != "past"
    }
    shown |= {
        key: _format_date(values[key]) for key in ("queued", "started", "updated") if values[key]
    }
    past = [f"{state} {_format_date(when)}" for state, when in status.past]
    parts = [format_facts({**shown, **({"earlier": ", ".join(past)} if past else {})})]
    if metrics:
        last = [
            (line["run"], line["seconds"], line["fraction"], line["message"])
            for line in metrics[-SHOWN:]
        ]
        said = f"The last {len(last)} of {len(metrics)} lines of metrics.jsonl"
        parts.append(f"{said}\n{format_table(('run', 'seconds', 'fraction', 'message'), last)}")
    parts.append(f"Log\n{log}" if log else "The log is empty.")
    return Answer({**values, "metrics": metrics, "log": log.splitlines()}, "\n\n".join(parts))


def _cancel(options: Namespace, progress: Progress) -> Answer:
    job = queue.find_job(_open_workspace(options), options.id)
    before = job.status()
    after = job.cancel() if before.alive else before
    said = (
        f"{job.id} had ended before: {after.state}."
        if not before.alive
        else f"{job.id}: {after.state}."
    )
    return Answer(
        {**_job_to_json(job, after), "had_ended": not before.alive}, said, 1 if after.alive else 0
    )


def _resume(options: Namespace, progress: Progress) -> Answer:
    workspace = _open_workspace(options)
    job = queue.find_job(workspace, options.id)
    goes_on = job.has_checkpoint
    queue.resume(workspace, job)
    status = _follow(job, progress) if options.wait else job.status()
    said = (
        f"{job.id}: {status.state},"
        f" {'from its checkpoint' if goes_on else 'from the beginning: it had no checkpoint'}."
    )
    lines = [said, *filter(None, (status.error, status.remedy))]
    code = EXITS.get(status.state, 130) if options.wait else 0
    return Answer({**_job_to_json(job, status), "from_checkpoint": goes_on}, "\n".join(lines), code)


def _follow(job: Job, progress: Progress) -> Status:
    """Wait for the end of a job; an interrupt stops the waiting, not the job."""
    try:
        while (status := job.status()).alive:
            progress(status.fraction, status.message or status.state)
            time.sleep(0.2)
    except (KeyboardInterrupt, Canceled):
        status = job.status()
    return status


def _job_to_json(job: Job, status: Status) -> dict[str, Any]:
    """Convert a job to JSON values."""
    before = job.waits_for() if status.state == "waiting" else None
    known = asdict(status)
    return {
        "id": job.id,
        "state": status.state,
        "step": job.spec.step,
        "target": str(job.target),
        **{
            key: known[key]
            for key in ("fraction", "message", "error", "remedy", "queued", "started", "updated")
        },
        "seconds": status.seconds,
        "seconds_left": status.seconds_left,
        "waits_for": before.id if before else None,
        "past": [{"state": state, "time": when} for state, when in status.past],
        "checkpoint": job.has_checkpoint,
        "folder": str(job.folder),
        "command": job.command,
    }


def _format_duration(seconds: float) -> str:
    """Format a duration as h:mm:ss."""
    whole_seconds = round(seconds)
    return f"{whole_seconds // 3600}:{whole_seconds // 60 % 60:02}:{whole_seconds % 60:02}"


def _format_date(when: float) -> str:
    return datetime.fromtimestamp(when).strftime("%Y-%m-%d %H:%M:%S")


LIST = Command(_add_list_options, _list)
SHOW = Command(_add_show_options, _show)
CANCEL = Command(_add_job_options, _cancel)
RESUME = Command(_add_resume_options, _resume)
