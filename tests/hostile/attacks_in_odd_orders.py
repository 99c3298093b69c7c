"""Attempts of `attacks.py` in odd orders and by visitors: jobs, trash, names, copies, quotas and locks
while something else happens. Each is a function of a lab of its own.

An attempt may succeed, or end in a sentence (an InputError). What it expects of its end, it asserts;
`Lab.close` asserts what holds after each: every job ends in a state with a sentence, everything
that is left can be listed, and no draft stays.
"""

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil

from tests.material import counting_step
from tests.material.counting_step import CountingStep
from tests.material.hostile import BIDI, LOUSY_NAME
from vocadapt.errors import InputError
from vocadapt.lab.housekeeping.copies import copy_workspace, export_workspace, open_export
from vocadapt.lab.housekeeping.renames import find_id, rename, rename_artifact
from vocadapt.lab.housekeeping.trash import (
    delete_artifact,
    delete_job,
    empty_trash,
    find_deleted,
    list_trash,
    restore,
)
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.job import FLAG, SPEC, Job
from vocadapt.lab.jobs.living import FOLDER as LIVING
from vocadapt.lab.jobs.status import STATES, STATUS
from vocadapt.lab.jobs.uploads import list_unused_uploads
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import limits
from vocadapt.lab.workspace.drafts import DRAFT, OLD
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.notes import load_notes, save_name, save_note
from vocadapt.lab.workspace.slices import delete_slice, list_slices, load_slice, save_slice
from vocadapt.lab.workspace.visitors import name_folder, record_visit, remove_unused_folders
from vocadapt.lab.workspace.workspace import Artifact, Workspace

SECONDS = 30.0  # for a job to come to a state
SECONDS_TO_END = 5.0  # for the processes that a killed one started
LONG = CountingStep(numbers=2000, pause=0.02)
SHORT = CountingStep(numbers=10, pause=0.0)
MEGABYTE = 1_000_000
NAMES = (
    *("", " ", ".", "..", "../b", "/etc/passwd", "a/b", "a\\b", "-a", ".a", "a.", "a b", "CON"),
    *("nul.txt", "a\0b", "a\nb", "a" * 81, "a" * 5000, "é", BIDI, LOUSY_NAME, "~", "$HOME", "*"),
)


class Lab:
    """A workspace with a text and an artifact `a`, a job that runs if one is asked for, and visitors."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.workspaces = folder, list[Workspace]()
        folder.mkdir()
        self.text = folder / "text.txt"
        self.text.write_text("heart disease\n", encoding="utf-8")
        self.workspace = self.open_workspace(folder / "w")
        self.made = self.make("a")

    def open_workspace(self, root: Path) -> Workspace:
        """Open a workspace, which `close` looks at."""
        self.workspaces.append(Workspace(root))
        return self.workspaces[-1]

    def spec(self, settings: CountingStep = SHORT, text: Path | None = None) -> Spec:
        """The sums of squares for a text."""
        return Spec(settings, {"text": str(text or self.text)})

    def make(self, name: str, workspace: Workspace | None = None) -> Artifact:
        """Make an artifact at once."""
        root = (workspace or self.workspace).root
        return run_step(self.spec(), root / "corpora" / name)

    def start(
        self, name: str = "b", settings: CountingStep = SHORT, text: Path | None = None
    ) -> Job:
        """Start a job."""
        return queue.start(self.workspace, self.spec(settings, text), name)

    def run_long(self, name: str = "long", text: Path | None = None) -> Job:
        """Start a job that does not end by itself, and wait until it runs."""
        return wait(self.start(name, LONG, text), "running")

    def kill(self, job: Job) -> Job:
        """Kill a running job."""
        os.kill(job.status().pid, signal.SIGKILL)
        return wait(job, "interrupted")

    def serve_visitors(self, megabytes: int = 1, jobs: int = 2) -> None:
        """Let this lab be one with visitors; its workspace is that of the visitor ann."""
        os.environ |= {
            limits.VISITORS: str(self.folder / "visitors"),
            limits.QUOTA: str(megabytes),
            limits.MAX_JOBS: str(jobs),
        }
        self.workspace = self.visit("ann")
        self.made = self.make("a")

    def visit(self, name: str, workspace: str = "w") -> Workspace:
        """The workspace of a visitor."""
        return self.open_workspace(
            self.folder / "visitors" / name_folder("account", name) / workspace
        )

    def fill(self, megabytes: float) -> Path:
        """Put a file of this size into the artifact."""
        file = self.made.folder / "large"
        file.write_bytes(b" " * int(megabytes * MEGABYTE))
        return file

    def close(self) -> None:
        """End the jobs, and assert what holds after every attempt."""
        for workspace in filter(lambda one: one.root.is_dir(), self.workspaces):
            for job in queue.list_living_jobs(workspace):
                job.cancel(grace=1.0)
            for job in queue.list_jobs(workspace):
                status = job.status()
                assert status.state in STATES and not status.alive, status
                assert not status.error or status.error.endswith("."), status.error
                assert "Traceback" not in job.log(), job.log()
            for kind in ARTIFACTS:
                workspace.artifacts(kind)
            list_trash(workspace), load_notes(workspace), list_slices(workspace)
            list_unused_uploads(workspace)
            self._remove_remains(workspace)

    def _remove_remains(self, workspace: Workspace) -> None:
        """Assert that what killed processes left behind can be removed; processes that they started
        end some moments later.
        """
        end = time.monotonic() + SECONDS_TO_END
        while True:
            if (workspace.root / "jobs").is_dir():
                queue.remove_remains(workspace)
            left = [path for path in workspace.root.rglob(".*") if path.suffix in (DRAFT, OLD)]
            if not left:
                return
            assert time.monotonic() < end, left
            time.sleep(0.1)


Act = Callable[[Lab], object]
ACTS: list[Act] = []


def order(act: Act) -> Act:
    """Add an attempt."""
    ACTS.append(act)
    return act


def run_act(act: Act, folder: Path) -> int:
    """Run an attempt in a new lab; return 2 if it ends in a sentence, which is printed, else 0.
    Raises AssertionError for a fault.
    """
    counting_step.register()
    queue.WORKER = (str(Path(counting_step.__file__).resolve()),)
    lab = Lab(folder)
    try:
        act(lab)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    finally:
        lab.close()
    return 0


def wait(job: Job, *states: str) -> Job:
    """Wait until a job is in one of the states."""
    end = time.monotonic() + SECONDS
    while job.status().state not in states:
        assert time.monotonic() < end, f"{job.status()}\n{job.log()}"
        time.sleep(0.02)
    return job


def refuse(act: Callable[[], object], *parts: str) -> str:
    """Return the sentence that an act is refused with, which has these parts."""
    try:
        act()
    except InputError as error:
        sentence = str(error)
        assert all(part in sentence for part in parts), sentence
        assert len(sentence) < 1200 and sentence.replace("\n", "").isprintable(), sentence
        return sentence
    raise AssertionError("was not refused")


def run_at_once(acts: Iterable[Callable[[], object]]) -> tuple[list[object], list[str]]:
    """Run acts in threads of their own; return what those that succeeded return, and the sentences
    of the others.
    """
    found: list[object] = []
    refused: list[str] = []
    faults: list[BaseException] = []

    def run(act: Callable[[], object]) -> None:
        try:
            found.append(act())
        except InputError as error:
            refused.append(str(error))
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    if faults:
        raise faults[0]
    return found, refused


# Jobs


@order
def cancel_twice(lab: Lab) -> None:
    job = lab.run_long()
    run_at_once([job.cancel] * 3)
    assert job.cancel().state == "canceled"


@order
def cancel_a_job_that_waits_behind_a_stopped_one(lab: Lab) -> None:
    first = lab.run_long()
    os.kill(first.status().pid, signal.SIGSTOP)
    second = lab.start("b")
    assert second.cancel().state == "canceled"
    assert first.cancel(grace=0.5).state in ("canceled", "interrupted")


@order
def cancel_after_the_end(lab: Lab) -> None:
    job = wait(lab.start(), "done")
    assert job.cancel().state == "done"
    refuse(lambda: queue.resume(lab.workspace, job), "nothing to resume")


@order
def resume_a_running_job(lab: Lab) -> None:
    job = lab.run_long()
    refuse(lambda: queue.resume(lab.workspace, job), "running")


@order
def resume_five_times_at_once(lab: Lab) -> None:
    job = lab.run_long()
    job.cancel()
    done, refused = run_at_once([lambda: queue.resume(lab.workspace, job)] * 5)
    assert len(done) == 1 and len(refused) == 4, (done, refused)
    wait(job, "running")


@order
def resume_where_the_name_was_taken_meanwhile(lab: Lab) -> None:
    job = lab.run_long("taken")
    lab.kill(job)
    lab.make("taken")
    refuse(lambda: queue.resume(lab.workspace, job), "taken")


@order
def resume_a_job_in_the_trash(lab: Lab) -> None:
    job = lab.run_long()
    job.cancel()
    delete_job(lab.workspace, job)
    refuse(lambda: queue.resume(lab.workspace, job))
    refuse(lambda: queue.find_job(lab.workspace, job.id), job.id)


@order
def resume_a_job_whose_text_is_gone(lab: Lab) -> None:
    text = lab.folder / "other.txt"
    shutil.copy(lab.text, text)
    job = lab.run_long("b", text)
    lab.kill(job)
    text.unlink()
    with suppress(InputError):
        queue.resume(lab.workspace, job)
        wait(job, "failed")


@order
def start_what_a_job_makes(lab: Lab) -> None:
    lab.run_long("b")
    refuse(lambda: lab.start("b"), "is making")


@order
def start_the_same_ten_times_at_once(lab: Lab) -> None:
    names = [f"n{number}" for number in range(10)]
    acts = [partial(queue.start, lab.workspace, lab.spec(LONG), name, once=True) for name in names]
    found, refused = run_at_once(acts)
    assert len(found) == 10 and len(set(found)) == 1 and not refused, (found, refused)


@order
def start_one_name_five_times_at_once(lab: Lab) -> None:
    found, refused = run_at_once([lab.start] * 5)
    assert len(found) == 1 and len(refused) == 4, (found, refused)
    wait(found[0], "done")  # type: ignore[arg-type]


@order
def start_with_hostile_names(lab: Lab) -> None:
    for name in NAMES:
        refuse(lambda: lab.start(name), "cannot be a name")  # noqa: B023
    assert queue.list_jobs(lab.workspace) == []


@order
def ask_for_hostile_jobs(lab: Lab) -> None:
    for name in NAMES:
        refuse(lambda: queue.find_job(lab.workspace, name))  # noqa: B023


@order
def replace_what_a_waiting_job_reads(lab: Lab) -> None:
    text = lab.folder / "other.txt"
    shutil.copy(lab.text, text)
    running, job = lab.run_long(), lab.start("b", text=text)
    text.unlink()
    text.mkdir()
    running.cancel()
    wait(job, "done", "failed")


@order
def make_a_pipe_of_what_a_waiting_job_reads(lab: Lab) -> None:
    text = lab.folder / "other.txt"
    shutil.copy(lab.text, text)
    running, job = lab.run_long(), lab.start("b", text=text)
    text.unlink()
    os.mkfifo(text)
    running.cancel()
    wait(job, "done", "failed")


@order
def make_the_target_by_hand_while_the_job_runs(lab: Lab) -> None:
    job = lab.start("b", CountingStep(numbers=60, pause=0.02))
    wait(job, "running")
    target = lab.workspace.root / "corpora" / "b"
    target.mkdir()
    (target / "mine.txt").write_text("mine", encoding="utf-8")
    assert wait(job, "done", "failed").status().state == "failed"
    assert (target / "mine.txt").read_text(encoding="utf-8") == "mine"


@order
def remove_the_draft_of_a_running_job(lab: Lab) -> None:
    job = lab.run_long()
    drafts = list[Path]()
    while not drafts:
        drafts = list((lab.workspace.root / "corpora").glob(f".*{DRAFT}"))
    shutil.rmtree(drafts[0], ignore_errors=True)
    wait(job, "failed")


@order
def remove_the_folder_of_a_running_job(lab: Lab) -> None:
    job = lab.run_long()
    pid = job.status().pid
    shutil.rmtree(job.folder)
    assert queue.list_jobs(lab.workspace) == []
    refuse(lambda: queue.find_job(lab.workspace, job.id))
    psutil.Process(pid).terminate()
    end = time.monotonic() + SECONDS
    while psutil.pid_exists(pid):
        assert time.monotonic() < end
        time.sleep(0.02)


@order
def rename_the_workspace_while_a_job_runs(lab: Lab) -> None:
    job = lab.run_long()
    pid = job.status().pid
    moved = lab.folder / "moved"
    os.rename(lab.workspace.root, moved)
    workspace = lab.open_workspace(moved)
    assert [one.id for one in queue.list_living_jobs(workspace)] == [job.id]
    refuse(lambda: lab.workspace.artifact("corpora", "a"))
    os.kill(pid, signal.SIGTERM)
    wait(Job(moved / "jobs" / job.id), *STATES[2:])


@order
def remove_the_workspace_and_go_on(lab: Lab) -> None:
    shutil.rmtree(lab.workspace.root)
    for act in list_readers(lab):
        with suppress(InputError):
            act()
    for write in list_writers(lab):
        with suppress(InputError):
            write()


@order
def damage_the_records_of_a_job_that_others_wait_behind(lab: Lab) -> None:
    first, second = lab.run_long(), lab.start("b")
    content = (first.folder / STATUS).read_bytes()
    for damage in (b"", b"{", b"[1]", b'{"state": 1}', b'{"past": 3}', b"\xff\xfe", b"null"):
        (first.folder / STATUS).write_bytes(damage)
        queue.list_jobs(lab.workspace)
        time.sleep(0.3)
    (first.folder / STATUS).write_bytes(content)
    first.cancel()
    wait(second, "done")


@order
def damage_the_order_of_a_job(lab: Lab) -> None:
    job = lab.run_long()
    lab.kill(job)
    for damage in (b"", b"{", b"[]", b'{"spec": 1}', b'{"spec": {}, "target": "../../x"}'):
        (job.folder / SPEC).write_bytes(damage)
        assert queue.list_jobs(lab.workspace) == []
        refuse(lambda: queue.find_job(lab.workspace, job.id))
    lab.start("b")


@order
def lead_the_target_of_a_job_out_of_the_workspace(lab: Lab) -> None:
    job = lab.run_long()
    lab.kill(job)
    order = json.loads((job.folder / SPEC).read_text(encoding="utf-8"))
    order["target"] = "corpora/../../../out"
    (job.folder / SPEC).write_text(json.dumps(order), encoding="utf-8")
    with suppress(InputError):
        wait(queue.resume(lab.workspace, queue.find_job(lab.workspace, job.id)), "running")
    assert not (lab.folder / "out").exists()


@order
def put_strange_things_among_the_living_jobs(lab: Lab) -> None:
    job = lab.run_long()
    marks = job.folder.parent / LIVING
    (marks / "nobody").touch()
    (marks / "folder").mkdir()
    (marks / BIDI).symlink_to("/nowhere")
    (job.folder.parent / "file").touch()
    (job.folder.parent / ".hidden").mkdir()
    assert [one.id for one in queue.list_living_jobs(lab.workspace)] == [job.id]
    job.cancel()
    wait(lab.start("b"), "done")


@order
def put_a_file_where_the_living_jobs_are(lab: Lab) -> None:
    wait(lab.start("b"), "done")
    marks = lab.workspace.root / "jobs" / LIVING
    shutil.rmtree(marks)
    marks.touch()
    with suppress(InputError):
        lab.start("c")


@order
def put_a_file_where_the_jobs_are(lab: Lab) -> None:
    (lab.workspace.root / "jobs").touch()
    assert queue.list_jobs(lab.workspace) == queue.list_living_jobs(lab.workspace) == []
    refuse(lab.start, "jobs")


@order
def make_a_folder_of_the_wish_to_cancel(lab: Lab) -> None:
    job = lab.run_long()
    (job.folder / FLAG).mkdir()
    wait(job, "canceled")
    with suppress(InputError):
        queue.resume(lab.workspace, job)


@order
def give_a_job_hostile_names(lab: Lab) -> None:
    job = wait(lab.start(), "done")
    for name in (*NAMES, "a" * 10**6):
        with suppress(InputError):
            save_name(lab.workspace, find_id(job), name)
    assert len(load_notes(lab.workspace)) <= 1


# Artifacts: delete, restore, rename


@order
def delete_what_a_job_reads(lab: Lab) -> None:
    lab.run_long("b", lab.made.folder / counting_step.RESULT)
    refuse(lambda: delete_artifact(lab.workspace, lab.made), "in use")
    refuse(lambda: rename_artifact(lab.workspace, lab.made, "c"), "in use")


@order
def delete_a_running_job(lab: Lab) -> None:
    job = lab.run_long()
    refuse(lambda: delete_job(lab.workspace, job), "has not ended")


@order
def delete_one_thing_five_times_at_once(lab: Lab) -> None:
    done, refused = run_at_once([lambda: delete_artifact(lab.workspace, lab.made)] * 5)
    assert len(done) == 1 and len(refused) == 4, (done, refused)
    assert len(list_trash(lab.workspace)) == 1


@order
def restore_one_thing_five_times_at_once(lab: Lab) -> None:
    entry = delete_artifact(lab.workspace, lab.made)
    done, refused = run_at_once([lambda: restore(lab.workspace, entry)] * 5)
    assert len(done) == 1 and len(refused) == 4, (done, refused)


@order
def delete_and_rename_at_once(lab: Lab) -> None:
    acts = [
        lambda: delete_artifact(lab.workspace, lab.made),
        lambda: rename_artifact(lab.workspace, lab.made, "c"),
        lambda: rename_artifact(lab.workspace, lab.made, "d"),
    ]
    done, refused = run_at_once(acts)
    assert len(done) == 1 and len(refused) == 2, (done, refused)
    left = {one.name for one in lab.workspace.artifacts("corpora")}
    assert len(left) + len(list_trash(lab.workspace)) == 1


@order
def restore_where_the_name_was_taken(lab: Lab) -> None:
    entry = delete_artifact(lab.workspace, lab.made)
    lab.make("a")
    refuse(lambda: restore(lab.workspace, entry), "exists already")
    restore(lab.workspace, entry, "b")


@order
def restore_under_hostile_names(lab: Lab) -> None:
    entry = delete_artifact(lab.workspace, lab.made)
    for name in NAMES[1:]:  # without a name, under its own
        refuse(lambda: restore(lab.workspace, entry, name), "cannot be a name")  # noqa: B023
    restore(lab.workspace, entry)


@order
def restore_what_was_emptied(lab: Lab) -> None:
    entry = delete_artifact(lab.workspace, lab.made)
    run_at_once([lambda: empty_trash(lab.workspace)] * 3)
    refuse(lambda: restore(lab.workspace, entry), "trash")
    refuse(lambda: find_deleted(lab.workspace, "../w"), "trash")


@order
def restore_while_the_trash_is_emptied(lab: Lab) -> None:
    for number in range(20):
        entry = delete_artifact(lab.workspace, lab.made)
        done, refused = run_at_once(
            [lambda: restore(lab.workspace, entry), lambda: empty_trash(lab.workspace)]  # noqa: B023
        )
        whole = lab.made.folder.is_dir()
        assert not whole or (lab.made.folder / counting_step.RESULT).is_file(), number
        assert list_trash(lab.workspace) == [], (done, refused)
        if not whole:
            lab.made = lab.make("a")


@order
def rename_to_hostile_names(lab: Lab) -> None:
    for name in NAMES:
        refuse(lambda: rename_artifact(lab.workspace, lab.made, name), "cannot be a name")  # noqa: B023
    assert lab.made.folder.is_dir()


@order
def rename_to_what_a_job_makes(lab: Lab) -> None:
    lab.run_long("b")
    refuse(lambda: rename_artifact(lab.workspace, lab.made, "b"), "b")
    refuse(lambda: rename_artifact(lab.workspace, lab.made, "a"), "a")


@order
def rename_what_was_renamed(lab: Lab) -> None:
    rename_artifact(lab.workspace, lab.made, "b")
    refuse(lambda: rename(lab.workspace, lab.made, "c"), "does not exist")
    refuse(lambda: delete_artifact(lab.workspace, lab.made), "does not exist")


@order
def swap_two_names_at_once(lab: Lab) -> None:
    other = lab.make("b")
    run_at_once(
        [
            lambda: rename_artifact(lab.workspace, lab.made, "b"),
            lambda: rename_artifact(lab.workspace, other, "a"),
        ]
    )
    assert {one.name for one in lab.workspace.artifacts("corpora")} == {"a", "b"}


@order
def put_records_of_unfinished_moves(lab: Lab) -> None:
    records = (
        '{"source": "corpora/a", "target": "../out"}',
        '{"source": "../text.txt", "target": "corpora/b"}',
        '{"source": "/etc", "target": "corpora/a"}',
        *('{"source": 1}', "{", "[]", ""),
    )
    for number, text in enumerate(records):
        record = lab.workspace.root / ".renaming.json"
        record.write_text(text, encoding="utf-8")
        with suppress(InputError):
            delete_artifact(lab.workspace, lab.make(f"n{number}"))
        record.unlink(missing_ok=True)
    assert lab.text.is_file() and not (lab.folder / "out").exists()


# Copies and exports


@order
def copy_and_export_while_a_job_runs(lab: Lab) -> None:
    lab.run_long()
    lab.open_workspace(copy_workspace(lab.workspace, lab.folder / "copy").root)
    export_workspace(lab.workspace, lab.folder / "w.zip")
    opened = lab.open_workspace(open_export(lab.folder / "w.zip", lab.folder / "opened").root)
    assert [one.name for one in opened.artifacts("corpora")] == ["a"]
    assert queue.list_jobs(opened) == []


@order
def copy_five_times_to_one_place_at_once(lab: Lab) -> None:
    lab.fill(2)
    act = partial(copy_workspace, lab.workspace, lab.folder / "copy")
    done, refused = run_at_once([act] * 5)
    assert len(done) == 1 and len(refused) == 4, (done, refused)
    assert [one.name for one in lab.open_workspace(lab.folder / "copy").artifacts("corpora")]


@order
def open_an_export_over_a_workspace(lab: Lab) -> None:
    export_workspace(lab.workspace, lab.folder / "w.zip")
    refuse(lambda: open_export(lab.folder / "w.zip", lab.workspace.root), "exists already")
    refuse(lambda: open_export(lab.folder / "w.zip", lab.folder / "w.zip" / "x"))
    refuse(lambda: copy_workspace(lab.workspace, lab.workspace.root / "corpora" / "a"))


@order
def copy_a_workspace_into_itself(lab: Lab) -> None:
    with suppress(InputError):
        copy_workspace(lab.workspace, lab.workspace.root / "corpora" / "inside")


@order
def delete_while_copies_are_made(lab: Lab) -> None:
    files = [lab.make(f"n{number}") for number in range(20)]
    acts = [partial(copy_workspace, lab.workspace, lab.folder / f"c{n}") for n in range(3)]
    acts += [partial(export_workspace, lab.workspace, lab.folder / f"e{n}.zip") for n in range(3)]
    run_at_once([*acts, *(partial(delete_artifact, lab.workspace, one) for one in files)])
    left = [path.name for path in lab.folder.glob(f".*{DRAFT}")]
    assert not left, left


# Notes and slices


@order
def write_notes_that_are_none(lab: Lab) -> None:
    for text in ("a" * 10**6, "\0", BIDI, "\ud800", "\n" * 1000, '"}\n{"id": "x"}'):
        with suppress(InputError):
            save_note(lab.workspace, "corpora/a", text, [text, text])
    assert set(load_notes(lab.workspace)) <= {"corpora/a"}


@order
def ask_for_hostile_slices(lab: Lab) -> None:
    for name in NAMES:
        refuse(lambda: load_slice(lab.workspace, name))  # noqa: B023
        refuse(lambda: delete_slice(lab.workspace, name))  # noqa: B023
        with suppress(InputError):
            save_slice(lab.workspace, name, ["a", BIDI])


@order
def save_one_slice_ten_times_at_once(lab: Lab) -> None:
    done, _ = run_at_once([lambda: save_slice(lab.workspace, "heart", ["a"])] * 10)
    assert len(done) == len(list_slices(lab.workspace)) == 10, done


# Visitors


def measure(folder: Path) -> int:
    """The bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@order
def copy_beyond_the_quota_at_once(lab: Lab) -> None:
    lab.serve_visitors(megabytes=2)
    lab.fill(0.8)
    folder = lab.workspace.root.parent
    acts = [partial(copy_workspace, lab.workspace, folder / f"copy-{n}") for n in range(5)]
    done, refused = run_at_once(acts)
    assert len(done) == 1 and len(refused) == 4, (done, refused)
    assert measure(folder) <= 2 * MEGABYTE


@order
def open_exports_beyond_the_quota_at_once(lab: Lab) -> None:
    lab.serve_visitors(megabytes=2)
    lab.fill(0.8)
    export_workspace(lab.workspace, lab.folder / "w.zip")
    folder = lab.workspace.root.parent
    acts = [partial(open_export, lab.folder / "w.zip", folder / f"o-{n}") for n in range(5)]
    done, refused = run_at_once(acts)
    assert len(done) == 1 and len(refused) == 4, (done, refused)
    assert measure(folder) <= 2 * MEGABYTE


@order
def write_with_a_full_storage(lab: Lab) -> None:
    lab.serve_visitors(megabytes=1)
    large = lab.fill(1.2)
    for write in list_writers(lab):
        refuse(write, "storage is full")
    large.unlink()
    for write in list_writers(lab):
        write()


@order
def start_more_jobs_than_a_visitor_may_have(lab: Lab) -> None:
    lab.serve_visitors(jobs=2)
    found, refused = run_at_once([partial(lab.start, f"n{n}", LONG) for n in range(5)])
    assert len(found) == 2 and len(refused) == 3 and "may have 2" in refused[0], refused


@order
def resume_more_jobs_than_a_visitor_may_have(lab: Lab) -> None:
    lab.serve_visitors(jobs=1)
    first = lab.run_long("n1")
    first.cancel()
    second = lab.run_long("n2")
    refuse(lambda: queue.resume(lab.workspace, first), "may have 1")
    assert second.cancel().state == "canceled"


@order
def use_a_second_workspace_for_more_jobs(lab: Lab) -> None:
    lab.serve_visitors(jobs=1)
    lab.run_long()
    other = lab.visit("ann", "second")
    refuse(lambda: queue.start(other, lab.spec(), "b"), "may have 1")
    wait(queue.start(lab.visit("ben"), lab.spec(), "b"), "waiting", "running", "done")


@order
def name_what_belongs_to_another_visitor(lab: Lab) -> None:
    lab.serve_visitors()
    other = lab.visit("ben")
    secret = lab.make("secret", other).folder / counting_step.RESULT
    for path in (str(secret), os.path.relpath(secret, lab.workspace.root), "/etc/passwd"):
        manifest = json.loads((lab.made.folder / "manifest.json").read_text(encoding="utf-8"))
        manifest["inputs"]["text"]["paths"] = [path]
        (lab.made.folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        assert lab.workspace.artifacts("corpora") == [], path
        assert list(lab.workspace.list_hidden()) == ["corpora/a"]
    assert [one.name for one in other.artifacts("corpora")] == ["secret"]


@order
def link_to_what_belongs_to_another_visitor(lab: Lab) -> None:
    lab.serve_visitors()
    secret = lab.make("secret", lab.visit("ben")).folder
    (lab.workspace.root / "corpora" / "link").symlink_to(secret)
    refuse(lambda: lab.workspace.folder("corpora", "link"), "leads out")
    (lab.workspace.root / "slices").mkdir()
    (lab.workspace.root / "slices" / "s.json").symlink_to(secret / "manifest.json")
    refuse(lambda: load_slice(lab.workspace, "s"), "leads out")
    refuse(lambda: queue.start(lab.workspace, lab.spec(), "link"), "leads out")


@order
def remove_folders_while_a_visitor_works(lab: Lab) -> None:
    lab.serve_visitors()
    lab.run_long()
    visitors = lab.folder / "visitors"
    assert remove_unused_folders(visitors, 0.0) == []
    record_visit(lab.workspace.root.parent)


@order
def come_back_after_the_folder_was_removed(lab: Lab) -> None:
    lab.serve_visitors()
    assert len(remove_unused_folders(lab.folder / "visitors", 0.0)) == 1
    refuse(lambda: lab.workspace.artifact("corpora", "a"), "a")
    record_visit(lab.workspace.root.parent)
    wait(lab.start("b"), "done")


@order
def damage_the_records_of_quota_and_queue(lab: Lab) -> None:
    lab.serve_visitors()
    folder = lab.workspace.root.parent
    for number, content in enumerate((b"", b"{", b"[]", b'{"bytes": "x"}', b"\xff")):
        (folder / f".{number}.reserved").write_bytes(content)
    queue_folder = folder.parent / ".queue"
    queue_folder.mkdir()
    for name in ("a.b.c", "..x", f"{folder.name}.last-start", "a.1.b"):
        (queue_folder / name).write_text("x", encoding="utf-8")
    wait(lab.start("b"), "done")


# A lab in which nothing is written


def list_readers(lab: Lab) -> list[Callable[[], object]]:
    """Everything that reads a workspace."""
    root = lab.workspace
    return [
        *(partial(root.artifacts, kind) for kind in ARTIFACTS),
        *(partial(read, root) for read in (queue.list_jobs, queue.list_living_jobs, list_trash)),
        *(partial(read, root) for read in (load_notes, list_slices, list_unused_uploads)),
        *(root.list_hidden, lambda: lab.made.explain_staleness(root)),
    ]


def list_writers(lab: Lab) -> list[Callable[[], object]]:
    """What a visitor writes with: jobs, copies, slices and notes."""
    folder = lab.workspace.root.parent
    return [
        lambda: wait(lab.start("new"), "done"),
        lambda: copy_workspace(lab.workspace, folder / "copy"),
        lambda: save_slice(lab.workspace, "heart", ["a"]),
        lambda: save_note(lab.workspace, "corpora/a", "text"),
    ]


@order
def write_in_a_lab_that_is_read_only(lab: Lab) -> None:
    deleted = delete_artifact(lab.workspace, lab.make("b"))
    job = wait(lab.start("c"), "done")
    before = {path: path.stat().st_mtime_ns for path in sorted(lab.folder.rglob("*"))}
    os.environ[limits.READ_ONLY] = "1"
    try:
        for read in list_readers(lab):
            read()
        for write in (
            *list_writers(lab),
            lambda: delete_artifact(lab.workspace, lab.made),
            lambda: delete_job(lab.workspace, job),
            lambda: rename_artifact(lab.workspace, lab.made, "d"),
            lambda: save_name(lab.workspace, find_id(job), "name"),
            lambda: restore(lab.workspace, deleted),
            lambda: empty_trash(lab.workspace),
            lambda: export_workspace(lab.workspace, lab.folder / "w.zip"),
            lambda: run_step(lab.spec(), lab.workspace.root / "corpora" / "e"),
        ):
            refuse(write, "read-only")
    finally:
        del os.environ[limits.READ_ONLY]
    after = {path: path.stat().st_mtime_ns for path in sorted(lab.folder.rglob("*"))}
    assert before == after, set(before) ^ set(after)
