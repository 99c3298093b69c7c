"""Running a study: its steps in a pool, word vectors and models before the cells that need them."""

import shutil
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.experiments.studies.cell_step import CellStep, stamp_input
from vocadapt.lab.experiments.studies.grid import Grid
from vocadapt.lab.experiments.studies.pools import Pool
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.queue import prepare_cell, remove_remains
from vocadapt.lab.jobs.status import write_status
from vocadapt.lab.steps.run import CHECKPOINT
from vocadapt.lab.workspace.manifest import Input, read_manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.progress import Progress, silent

REPORT_EVERY = 0.5  # seconds between reports of progress
MAX_NAMED = 2  # running steps that a report names
CHANGED = "{} was changed while the study ran: run it again"
LOST_REMEDY = (
    "If it was killed for lack of memory, free memory or use fewer workers; then run it again."
)


@dataclass(frozen=True)
class Failure:
    """Why a step of a study has no result, and after how many attempts."""

    name: str
    problem: str
    attempts: int


@dataclass(frozen=True)
class Outcome:
    """Numbers of cells after a run of a study: `done` in this run, `failed`, `skipped` because they
    were finished before, and `collapsed` among all finished ones.
    """

    cells: int
    done: int
    failed: int
    collapsed: int
    skipped: int
    failures: tuple[Failure, ...] = ()


@dataclass(eq=False)
class Schedule:
    """The unfinished steps of a run: waiting, running, failed, and the attempts of each."""

    waiting: deque[CellStep]
    running: dict[Path, CellStep] = field(default_factory=dict)
    attempts: Counter[str] = field(default_factory=Counter)
    failures: dict[str, Failure] = field(default_factory=dict)

    def will_make(self, name: str) -> bool:
        """Return whether a step of this name is running or waiting."""
        return any(step.name == name for step in (*self.running.values(), *self.waiting))

    def fail(self, step: CellStep, problem: str) -> None:
        """Record that a step has failed for good."""
        self.failures[step.name] = Failure(step.name, problem, self.attempts[step.name])


def run_grid(grid: Grid, root: Path, pool: Pool, progress: Progress = silent) -> Outcome:
    """Run all unfinished steps of a grid; `root` is the folder of the study. See `run_steps`."""
    remove_remains(Workspace(root))
    missing = grid.list_missing(root)
    for one in grid.steps:
        if one.is_whole(root):  # its process may have been killed before it removed its checkpoint
            shutil.rmtree(root / "jobs" / one.name / CHECKPOINT, ignore_errors=True)
    before = summarize_grid(grid, root)
    schedule = Schedule(deque(missing))
    report = partial(_report, schedule, len(missing), progress)
    run_steps(schedule, root, pool, grid.study.retries, report)
    after = summarize_grid(grid, root)
    return replace(
        before,
        done=after.skipped - before.skipped,
        failed=after.cells - after.skipped,
        collapsed=after.collapsed,
        failures=tuple(schedule.failures.values()),
    )


def run_steps(
    schedule: Schedule,
    root: Path,
    pool: Pool,
    retries: int,
    report: Callable[[], None],
    propose: Callable[[], None] = lambda: None,
) -> None:
    """Run the steps that wait, each once its inputs exist, until none is left.

    A failed step does not stop the others, and is retried `retries` times. root: folder of the
    study. report: reports the progress. propose: called whenever steps have ended; it may add
    others to those that wait. Raises Canceled if the progress is canceled; the pool is closed in
    any case.
    """
    workspace = Workspace(root)
    try:
        propose()
        while schedule.waiting or schedule.running:
            while len(schedule.running) < pool.capacity and (step := _take_next(schedule, root)):
                if changed := find_changed_input(step, root):
                    schedule.fail(step, CHANGED.format(changed))
                else:
                    _start_step(step, schedule, workspace, pool)
            report()
            for folder in pool.wait_for_ended(REPORT_EVERY):
                _handle_end(schedule, Job(folder), root, retries)
            propose()
    finally:
        pool.close()


def summarize_grid(grid: Grid, root: Path) -> Outcome:
    """Return the numbers of cells that are finished, without running anything."""
    whole = [cell for cell in grid.cells if cell.step.is_whole(root)]
    collapsed = sum(is_collapsed(cell.step, root) for cell in whole)
    return Outcome(len(grid.cells), 0, 0, collapsed, len(whole))


def is_collapsed(step: CellStep, root: Path) -> bool:
    """Return whether the run of a finished cell never left the majority baseline."""
    return bool(read_manifest(step.find_folder(root)).numbers.get("collapsed"))


def _start_step(step: CellStep, schedule: Schedule, workspace: Workspace, pool: Pool) -> None:
    job = prepare_cell(workspace, step.spec, step.name, step.threads)
    schedule.attempts[step.name] += 1
    schedule.running[job.folder] = step
    pool.submit(job.folder)


def _take_next(schedule: Schedule, root: Path) -> CellStep | None:
    """Take the first waiting step whose needed step is finished; fail the steps whose needed step
    failed or was removed.
    """
    unfinished = set[str]()  # models that thousands of cells may wait for: each is looked for once
    for step in tuple(schedule.waiting):
        needed = step.needs
        if needed is not None and needed.name in unfinished:
            continue
        if needed is None or needed.find_folder(root).is_dir():
            schedule.waiting.remove(step)
            return step
        if schedule.will_make(needed.name):
            unfinished.add(needed.name)
            continue
        schedule.waiting.remove(step)
        schedule.fail(step, f"it needs {needed.name}, which failed or was removed")
    return None


def _handle_end(schedule: Schedule, job: Job, root: Path, retries: int) -> None:
    step = schedule.running.pop(job.folder)
    if step.is_whole(root):
        if changed := find_changed_input(step, root):
            shutil.rmtree(step.find_folder(root))
            schedule.fail(step, CHANGED.format(changed))
        return
    status = job.status()
    if status.state == "canceled":
        schedule.fail(step, "it was canceled: run the study again")
        return
    # A step that rejects its input fails again: only other failures are retried.
    if schedule.attempts[step.name] <= retries and not status.rejected:
        schedule.waiting.appendleft(step)
        return
    if status.alive:
        schedule.fail(step, "another process still computes it: run the study again")
        return
    schedule.fail(step, " ".join(filter(None, (status.error, status.remedy))))
    if status.state == "interrupted":  # no attempt follows, so it is not merely interrupted
        write_status(job.folder, replace(status, state="failed", remedy=LOST_REMEDY))


def find_changed_input(step: CellStep, root: Path) -> str:
    """Return the role of an input that has changed since the study was expanded, now or when the
    result of the step was computed; "" if none has.
    """
    made: Mapping[str, Input] = {}
    if step.is_whole(root):
        made = read_manifest(step.find_folder(root)).inputs
    for role, expected in step.stamps.items():
        if role in made and made[role].stamp != expected:
            return role
        try:
            current = stamp_input(role, step.spec.inputs[role])
        except InputError:  # it was removed
            return role
        if current != expected:
            return role
    return ""


def _report(schedule: Schedule, total: int, progress: Progress) -> None:
    """Report the fraction of steps that have ended; running steps count by their progress."""
    ended = total - len(schedule.waiting) - len(schedule.running)
    parts = sum(Job(folder).status().fraction or 0.0 for folder in schedule.running)
    text = f"{ended:,} of {total:,} steps"
    names = [step.title for step in schedule.running.values()]
    if names:
        text += f", running {', '.join(names[:MAX_NAMED])}"
    if len(names) > MAX_NAMED:
        text += f" and {len(names) - MAX_NAMED:,} more"
    if schedule.failures:
        text += f", {len(schedule.failures):,} failed"
    progress((ended + parts) / total if total else 1.0, text)
