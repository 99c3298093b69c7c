"""The living jobs of a workspace: `<workspace>/jobs/living/` has an empty file for each job that
waits or runs, so that they are found without reading the ended ones, of which there may be
thousands.

A file is made before the process is started and removed when it ends, both while the job's folder
is locked. The file of a killed process is removed when the next job is started; until then, the
lock shows that the job has ended.
"""

from contextlib import suppress
from pathlib import Path

from vocadapt.lab.workspace.locks import is_locked

FOLDER = "living"


def mark_living(job: Path) -> None:
    """Record that the job of a folder waits or runs; the caller holds the lock of the folder."""
    marks = job.parent / FOLDER
    marks.mkdir(exist_ok=True)
    (marks / job.name).touch()


def unmark_living(job: Path) -> None:
    """Record that the job of a folder ends; the caller holds the lock of the folder."""
    (job.parent / FOLDER / job.name).unlink(missing_ok=True)


def list_living_folders(jobs: Path) -> list[Path]:
    """List the folders of the living jobs in a folder of jobs, newest first."""
    folders = (jobs / mark.name for mark in (jobs / FOLDER).glob("*"))
    return [folder for folder in sorted(folders, reverse=True) if is_locked(folder)]


def forget_ended(jobs: Path) -> None:
    """Remove the marks of killed processes; no job may be started meanwhile."""
    for mark in (jobs / FOLDER).glob("*"):
        if not is_locked(jobs / mark.name):
            with suppress(OSError):  # removed just now, or no file
                mark.unlink()
