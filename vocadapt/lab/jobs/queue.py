"""The job queue of a workspace: steps run in background processes, one at a time.

A job's folder is `<workspace>/jobs/<id>/`. Its process has its own session and waits for the lock
of `<workspace>/jobs`. The lock of the workspace itself is held while a job is started.
"""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import remove_stale_counts
from vocadapt.lab.jobs.job import FLAG, LOG, SPEC
from vocadapt.lab.jobs.job import Job as Job  # pages take it from here
from vocadapt.lab.jobs.living import forget_ended, list_living_folders, mark_living
from vocadapt.lab.jobs.shared_queue import check_number_of_jobs
from vocadapt.lab.jobs.status import Past, Status, write_status
from vocadapt.lab.steps.run import CHECKPOINT, SCRATCH
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.disk_space import FLOOR, OWN, Reservation, reserve_space
from vocadapt.lab.workspace.drafts import (
    check_free,
    convert_write_errors,
    remove_abandoned_drafts,
    remove_abandoned_files,
)
from vocadapt.lab.workspace.locks import acquire_lock, hold_lock, is_locked, wait_for_lock
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.workspace import TRASH, Artifact, Workspace, check_name
from vocadapt.system.forecasts import measure_load_factor
from vocadapt.system.processes import build_environment

ID = re.compile(r"\d{8}-\d{6}-\d{6}-([\w-]+)")  # group 1: the step
MAX_RECENT = 12  # newest jobs among which a result is looked for
# Arguments of Python, followed by the job's folder. -P: no module is imported from the working
# folder.
WORKER = ("-P", "-m", "vocadapt", "job")


def start(
    workspace: Workspace, spec: Spec, name: str, overwrite: bool = False, once: bool = False
) -> Job:
    """Start a job that runs `spec` and saves its artifact as `name`; return without waiting.

    once: if a living job does the same, return that one, whatever its name.
    Raises InputError if the name is not allowed, is taken, or is the target of another job, if
    inputs that must differ are the same, and if a visitor has too many jobs.
    """
    spec.check_distinct_inputs()
    target = workspace.folder(spec.kind, name)
    if once and (same := find_same_job(workspace, spec)):
        return same
    order = {
        "spec": spec.absolute().to_dict(),
        "target": f"{spec.kind}/{name}",
        "overwrite": overwrite,
        "load": measure_load_factor(),
    }
    with reserve_space(target, spec.estimate_bytes(), FLOOR) as space, _lock_jobs(workspace):
        if once and (same := find_same_job(workspace, spec)):  # started just now
            return same
        check_number_of_jobs(workspace.root)
        _check_target(workspace, target, spec, overwrite)
        folder = _new_folder(workspace, spec.step)
        strict_json.write(folder / SPEC, order)
        _launch(folder, space)
    return Job(folder)


def resume(workspace: Workspace, job: Job) -> Job:
    """Restart a job that was interrupted, canceled or failed, in the same folder; its log is
    continued.

    The job resumes from the step's checkpoint if there is one. Raises InputError if the job is
    alive or done, or if its target exists.
    """
    status = job.status()
    if status.alive or status.state == "done":
        raise InputError(
            f"The job {job.id} is {status.state}: there is nothing to resume.",
            code="nothing-to-resume",
        )
    size = job.spec.estimate_bytes()
    with reserve_space(job.target, size, FLOOR) as space, _lock_jobs(workspace):
        status = job.status()
        check_number_of_jobs(workspace.root)
        _check_target(workspace, job.target, job.spec, job.overwrite)
        (job.folder / FLAG).unlink(missing_ok=True)
        _launch(job.folder, space, (*status.past, (status.state, status.updated)))
    return job


def prepare_cell(workspace: Workspace, spec: Spec, name: str, threads: int) -> Job:
    """Prepare the job of a study's cell, which a worker of the study runs; its folder has the
    cell's name, and keeps the checkpoint of an earlier run.

    threads: number of threads of the cell, kept for resuming it as a job of its own. Raises
    InputError if the folder cannot be written.
    """
    folder = workspace.folder("jobs", name)
    order = {
        "spec": spec.to_dict(),
        "target": f"{spec.kind}/{name}",
        "overwrite": False,
        "threads": threads,
    }
    past: Past = ()
    if (folder / SPEC).exists():
        status = Job(folder).status()
        # Its process is gone: the caller holds the lock of the folder.
        state = "interrupted" if status.alive else status.state
        past = (*status.past, (state, status.updated))
    with convert_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FLAG).unlink(missing_ok=True)
        strict_json.write(folder / SPEC, order)
        mark_living(folder)
        write_status(folder, Status(queued=time.time(), updated=time.time(), past=past))
    return Job(folder)


def iterate_jobs(workspace: Workspace, step: str = "") -> Iterator[Job]:
    """Yield the readable jobs of a workspace, of all steps or of one, newest first."""
    folder = workspace.root / "jobs"
    try:
        names = sorted(os.listdir(folder), reverse=True)
    except OSError:  # none was started yet
        names = []
    for name in names:
        # Of thousands of jobs, those of other steps are not read; a cell of a study has its own
        # name.
        named = ID.fullmatch(name)
        if step and named and named[1] != step:
            continue
        job = Job(folder / name)
        if job.readable and (not step or job.spec.step == step):
            yield job


def list_jobs(workspace: Workspace, most: int | None = None) -> list[Job]:
    """List the jobs of a workspace, newest first, at most `most` of them."""
    return list(islice(iterate_jobs(workspace), most))


def find_job(workspace: Workspace, job_id: str) -> Job:
    """Return the job with this id; raises InputError if there is none that can be read."""
    job = Job(workspace.folder("jobs", check_name(job_id)))
    if not job.readable:
        raise InputError(
            f"There is no job {job_id} in {workspace.root}.",
            "List the jobs with python -m vocadapt jobs.",
        )
    return job


def list_promised_names(workspace: Workspace, kind: str) -> set[str]:
    """Return the names of the artifacts of a kind that waiting and running jobs will create."""
    return {job.target.name for job in list_living_jobs(workspace) if job.spec.kind == kind}


def list_living_jobs(workspace: Workspace) -> list[Job]:
    """List the waiting and running jobs of a workspace, newest first."""
    jobs = map(Job, list_living_folders(workspace.root / "jobs"))
    return [job for job in jobs if job.readable and job.status().alive]


def find_same_job(workspace: Workspace, spec: Spec) -> Job | None:
    """Return the waiting or running job with the step, settings and inputs of `spec`, if any."""
    wanted = spec.absolute()
    return next((job for job in list_living_jobs(workspace) if job.spec == wanted), None)


def find_same_result(workspace: Workspace, spec: Spec) -> Artifact | None:
    """Return the result of one of the newest jobs with the step, settings and inputs of `spec`,
    unless it was removed, is damaged or is out of date; None if there is none.
    """
    wanted = spec.absolute()
    for job in islice(iterate_jobs(workspace, spec.step), MAX_RECENT):
        if job.spec == wanted and job.finished:
            with suppress(InputError):  # a damaged result can be made again
                made = workspace.artifact(spec.kind, job.target.name)
                if not made.explain_staleness(workspace):
                    return made
    return None


def remove_remains(workspace: Workspace) -> None:
    """Remove what killed processes left: drafts, jobs that never started, unneeded checkpoints."""
    # 1. Remove drafts of artifacts, of word counts, and of copied workspaces beside this one.
    for kind in ARTIFACTS:
        remove_abandoned_drafts(workspace.root / kind)
    with suppress(OSError):  # the parent folder may belong to another user
        remove_abandoned_drafts(workspace.root.parent)
    remove_stale_counts(workspace.root)

    # 2. Remove drafts of small files, and what was left in the folder of a study or search.
    with suppress(OSError):  # such as files of another user
        remove_abandoned_drafts(workspace.root / TRASH)
        for folder in (workspace.root, *workspace.root.glob("*/"), *workspace.root.glob("*/*/")):
            remove_abandoned_files(folder)
            if (folder / SCRATCH).is_dir():
                with suppress(BlockingIOError), hold_lock(folder):
                    shutil.rmtree(folder / SCRATCH, ignore_errors=True)

    # 3. For each job whose process has ended, remove its folder if it never started, the drafts of
    #    its files, and its checkpoints if it is done.
    forget_ended(workspace.root / "jobs")
    for folder in (workspace.root / "jobs").glob("*/"):
        if not ID.fullmatch(folder.name) or is_locked(folder):
            continue
        if not (folder / SPEC).exists():
            shutil.rmtree(folder, ignore_errors=True)
            continue
        remove_abandoned_files(folder / CHECKPOINT)
        job = Job(folder)
        if (folder / CHECKPOINT).exists() and job.readable and job.status().state == "done":
            shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)


@contextmanager
def _lock_jobs(workspace: Workspace) -> Iterator[None]:
    """Lock the starting of jobs in a workspace, after removing what killed processes left."""
    folder = workspace.root / "jobs"
    with convert_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with convert_write_errors(folder), wait_for_lock(workspace.root):
        remove_remains(workspace)
        yield


def _check_target(workspace: Workspace, target: Path, spec: Spec, overwrite: bool) -> None:
    """Raise InputError if the target exists, or is the target of a waiting or running job.

    A study may exist: its folder grows.
    """
    if not spec.declaration.grows:
        check_free(target, overwrite)
    making = (job for job in list_living_jobs(workspace) if job.target == target)
    if job := next(making, None):
        raise InputError(
            f"The job {job.id} is making {target}.",
            "Wait for it, cancel it, or choose another name.",
            code="being-made",
        )


def _new_folder(workspace: Workspace, step: str) -> Path:
    """Create an empty folder whose name sorts by time."""
    while True:
        folder = workspace.root / "jobs" / f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{step}"
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            time.sleep(1e-6)


def _launch(folder: Path, space: Reservation | None, past: Past = ()) -> None:
    """Start the worker in its own session; from the open files, it inherits only the lock of its
    folder, and that of its reservation.

    past: final states of earlier runs, with their times.
    """
    lock = acquire_lock(folder, patience=2.0)
    if lock is None:
        raise InputError(f"The job {folder.name} is alive: there is nothing to resume.")
    kept = [lock]
    variables = build_environment() | {"PYTHONUNBUFFERED": "1"}
    if space:
        kept.append(space.lock)
        variables[OWN] = space.file.name
    try:
        mark_living(folder)
        write_status(folder, Status(queued=time.time(), updated=time.time(), past=past))
        with (folder / LOG).open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *WORKER, str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
                pass_fds=kept,
                env=variables,
            )
    finally:
        os.close(lock)  # the worker holds the lock with its inherited descriptor
    # Wait for the worker in a thread, so that it does not remain as a zombie.
    threading.Thread(target=process.wait, daemon=True).start()
