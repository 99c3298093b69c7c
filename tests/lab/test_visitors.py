"""The folders, quotas, jobs and clean-up of the visitors of a served lab."""

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.material.hostile import BIDI, DEEP, LOUSY_NAME
from tests.material.input_errors import raises_input_error
from tests.material.lab import LONG
from vocadapt.lab.jobs import shared_queue
from vocadapt.lab.jobs.living import mark_living
from vocadapt.lab.jobs.shared_queue import check_number_of_jobs, count_jobs_before, hold_turn
from vocadapt.lab.workspace import limits, visitors
from vocadapt.lab.workspace.disk_space import OWN, reserve_space
from vocadapt.lab.workspace.locks import hold_lock
from vocadapt.lab.workspace.notes import save_note
from vocadapt.lab.workspace.slices import delete_slice, list_slices, save_slice
from vocadapt.lab.workspace.visitors import name_folder, record_visit, remove_unused_folders
from vocadapt.lab.workspace.workspace import Workspace

DAY = 86_400.0


@pytest.fixture
def lab(tmp_path, monkeypatch) -> Path:
    """The folder of the visitors, each of whom has 1 MB and may have 2 jobs."""
    monkeypatch.setenv(limits.VISITORS, str(tmp_path))
    monkeypatch.setenv(limits.QUOTA, "1")
    monkeypatch.setenv(limits.MAX_JOBS, "2")
    monkeypatch.setattr(shared_queue, "TRY_EVERY", 0.01)
    return tmp_path


def make_visitor(lab: Path, name: str, size: int = 0) -> Workspace:
    """Make the workspace of a visitor, with a file of this size."""
    workspace = Workspace(lab / name_folder("cookie", name) / "workspace")
    workspace.root.mkdir(parents=True)
    (workspace.root / "notes.jsonl").write_bytes(b" " * size)
    return workspace


def set_age(folder: Path, days: float) -> None:
    """Let everything in a folder be so many days old."""
    then = time.time() - days * DAY
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (then, then))


def check_room(place: Path, needed: int = 0) -> None:
    """Reserve bytes and give them back; raises InputError if there are not so many."""
    with reserve_space(place, needed):
        pass


@contextmanager
def hold_in_process(what: str, place: Path, other: str) -> Iterator[subprocess.Popen[str]]:
    """Hold a context manager ("module name") of a place in another process."""
    module, name = what.split()
    program = (
        f"import sys, time; from pathlib import Path; from {module} import {name}\n"
        f"with {name}(Path(sys.argv[1]), {other}):\n"
        "    print('held', flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process


# Which folder


HOSTILE_KEYS = ["..", "/etc/passwd", "a/../../b", "", "\0", "CON", "~root", LOUSY_NAME, BIDI, DEEP]


@pytest.mark.parametrize("key", HOSTILE_KEYS, ids=range(len(HOSTILE_KEYS)))
def test_no_key_of_a_visitor_is_a_path(key, lab):
    name = name_folder("cookie", key)
    assert limits.VISITOR_FOLDER.fullmatch(name)
    assert (lab / name).parent == lab
    assert limits.find_visitor_folder(lab / name / "workspace" / "x") == lab / name


def test_other_keys_have_other_folders():
    keys = [("cookie", "a"), ("account", "a"), ("account", "a", "b"), ("account", "ab", "")]
    keys += [("account", "a", "b1"), ("account", "ab", "1"), ("account", "1:a", "b")]
    assert len({name_folder(*key) for key in keys}) == len(keys)
    assert name_folder("cookie", "a") == name_folder("cookie", "a")


def test_a_path_outside_of_the_visitors_has_no_visitor(lab):
    own = lab / name_folder("cookie", "a")
    for place in (lab, lab / "visitor-1", lab / "x" / own.name, own / ".." / "x", lab.parent):
        assert limits.find_visitor_folder(place) is None
    assert limits.find_visitor_folder(own / "w" / ".." / "v") == own


# Quota


def test_what_exceeds_the_quota_is_refused_before_it_is_written(lab):
    workspace = make_visitor(lab, "ann", 600_000)
    check_room(workspace.root / "x", 399_000)
    with raises_input_error("storage-full", "0.6 MB", "1.0 MB", "0.5 MB"):
        check_room(workspace.root / "x", 500_000)


def test_a_full_storage_takes_nothing_more_but_may_be_emptied(lab):
    workspace = make_visitor(lab, "ann")
    made = save_slice(workspace, "kept", ["a"])
    (workspace.root / "large").write_bytes(b" " * 1_100_000)
    for write in (
        lambda: save_slice(workspace, "new", ["a"]),
        lambda: save_note(workspace, "id", "text"),
        lambda: check_room(workspace.root),
    ):
        with raises_input_error("storage-full", "1.1 MB", "1.0 MB", "trash"):
            write()
    delete_slice(workspace, made.id)
    assert list_slices(workspace) == []


def test_all_workspaces_of_a_visitor_share_one_quota_and_no_other_counts(lab):
    workspace = make_visitor(lab, "ann", 600_000)
    beside = Workspace(workspace.root.parent / "second")
    with raises_input_error("storage-full", "0.6 MB"):
        check_room(beside.root, 500_000)
    check_room(make_visitor(lab, "ben").root, 900_000)
    check_room(lab / "no-visitor", 5_000_000)


COPY = """
import sys, time
from pathlib import Path
from vocadapt.errors import InputError
from vocadapt.lab.housekeeping.copies import copy_workspace
from vocadapt.lab.workspace.workspace import Workspace

source, target, go = map(Path, sys.argv[1:])

def wait(*progress):
    print("checked", flush=True)
    while not go.exists():
        time.sleep(0.01)

try:
    copy_workspace(Workspace(source), target, wait)
except InputError as error:
    print(error.code, flush=True)
"""


def test_three_copies_at_once_do_not_exceed_the_quota(lab):
    """Each would fit alone: .4 of 1 MB are used, and a copy has .4."""
    workspace, go = make_visitor(lab, "ann", 400_000), lab / "go"
    targets = [workspace.root.parent / f"copy-{number}" for number in range(3)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", COPY, *map(str, (workspace.root, target, go))],
            stdout=subprocess.PIPE,
            text=True,
        )
        for target in targets
    ]
    first = [process.stdout.readline() for process in processes if process.stdout]
    go.touch()
    for process in processes:
        process.communicate(timeout=LONG)
    assert sorted(first) == ["checked\n", "storage-full\n", "storage-full\n"]
    assert [target.exists() for target in targets].count(True) == 1
    check_room(workspace.root, 100_000)  # nothing is reserved any more


def test_reserved_bytes_count_until_they_are_written(lab):
    workspace = make_visitor(lab, "ann", 300_000)
    target = workspace.root / "models" / "m"
    with reserve_space(target, 400_000):
        with raises_input_error("storage-full", "0.3 MB of 1.0 MB", "0.4 MB"):
            check_room(workspace.root, 300_001)
        draft = target.parent / ".m.0123456789ab.draft"
        draft.mkdir(parents=True)
        (draft / "weights").write_bytes(b" " * 399_000)
        check_room(workspace.root, 298_000)  # counted once, though it is reserved and written
        with raises_input_error("storage-full"):
            check_room(workspace.root, 301_000)
    check_room(make_visitor(lab, "ben").root, 900_000)


def test_a_killed_writer_reserves_nothing(lab):
    workspace = make_visitor(lab, "ann")
    module = "vocadapt.lab.workspace.disk_space"
    with hold_in_process(f"{module} reserve_space", workspace.root / "a", "900_000") as process:
        with raises_input_error("storage-full", "0.9 MB"):
            check_room(workspace.root, 200_000)
        process.kill()
    check_room(workspace.root, 900_000)
    assert not list(workspace.root.parent.glob("*.reserved"))


def test_a_job_keeps_what_was_reserved_when_it_was_ordered(lab, monkeypatch):
    """The process of the job inherits the reservation, uses it, and may need more than expected."""
    workspace = make_visitor(lab, "ann", 100_000)
    target = workspace.root / "models" / "m"
    with reserve_space(target, 300_000) as space:
        kept = os.dup(space.lock)  # as the process that was started meanwhile
    with raises_input_error("storage-full", "0.3 MB"):
        check_room(workspace.root, 700_000)
    with monkeypatch.context() as job:
        job.setenv(OWN, space.file.name)
        check_room(target, 800_000)  # not in addition to the 300 000
    with raises_input_error("storage-full", "0.8 MB"):
        check_room(workspace.root, 200_000)
    os.close(kept)
    check_room(workspace.root, 800_000)


# Clean-up


def test_folders_without_visits_are_removed_and_the_removal_is_logged(lab, caplog):
    old, new = make_visitor(lab, "old", 50_000), make_visitor(lab, "new")
    set_age(old.root.parent, 31)
    set_age(new.root.parent, 29)
    foreign = lab / "a-project"
    foreign.mkdir()
    set_age(foreign, 400)
    with caplog.at_level(logging.INFO, "vocadapt"):
        removed = remove_unused_folders(lab, 30)
    name = old.root.parent.name
    assert [one.name for one in removed] == [name]
    assert name in caplog.text and "31.0 days" in caplog.text and "50 kB" in caplog.text
    assert {path.name for path in lab.iterdir()} == {new.root.parent.name, "a-project"}


def test_a_visit_keeps_a_folder_and_makes_none(lab):
    record_visit(lab / name_folder("cookie", "ann"))
    assert list(lab.iterdir()) == []
    workspace = make_visitor(lab, "ann")
    set_age(workspace.root.parent, 31)
    record_visit(workspace.root.parent)
    assert remove_unused_folders(lab, 30) == [] and workspace.root.is_dir()


@pytest.mark.parametrize("place", ["workspace/jobs/1", "workspace/corpora/.a.0123456789ab.draft"])
def test_a_folder_with_a_living_job_or_writer_is_never_removed(place, lab):
    workspace = make_visitor(lab, "ann")
    used = workspace.root.parent / place
    used.mkdir(parents=True)
    set_age(workspace.root.parent, 400)
    with hold_lock(used):
        assert remove_unused_folders(lab, 30) == []
    assert [one.name for one in remove_unused_folders(lab, 30)] == [workspace.root.parent.name]


def test_a_job_that_ended_lately_keeps_a_folder(lab):
    workspace = make_visitor(lab, "ann")
    job = workspace.root / "jobs" / "1"
    job.mkdir(parents=True)
    (job / "status.json").write_text("{}")
    set_age(workspace.root.parent, 400)
    os.utime(job / "status.json")
    assert remove_unused_folders(lab, 30) == []


def test_an_interrupted_removal_is_finished(lab):
    left = lab / f"{visitors.REMOVED}visitor-1"
    (left / "workspace").mkdir(parents=True)
    remove_unused_folders(lab, 30)
    assert not left.exists()


# Jobs


def test_a_visitor_may_have_so_many_jobs(lab):
    workspace = make_visitor(lab, "ann")
    jobs = [workspace.root / "jobs" / name for name in "12"]
    for job in jobs:
        job.mkdir(parents=True)
        mark_living(job)
    with hold_lock(jobs[0]):
        check_number_of_jobs(workspace.root)
        with hold_lock(jobs[1]):
            with raises_input_error("too-many-jobs", "2 jobs"):
                check_number_of_jobs(workspace.root.parent / "second")
            check_number_of_jobs(make_visitor(lab, "ben").root)
    check_number_of_jobs(workspace.root)


def test_the_jobs_of_visitors_run_in_turn(lab):
    """Ann has three jobs, Ben, who comes last, has one: his is the second."""
    ann, ben = make_visitor(lab, "ann"), make_visitor(lab, "ben")
    order: list[str] = []
    end = threading.Event()

    def run(workspace: Workspace, name: str, wait: threading.Event | None = None) -> None:
        with hold_turn(workspace.root / "jobs" / name, lambda: None):
            order.append(name)
            if wait:
                wait.wait(LONG)

    threads = [threading.Thread(target=run, args=(ann, "ann-1", end))]
    threads[0].start()
    wait_until(lambda: order == ["ann-1"])
    for workspace, name in ((ann, "ann-2"), (ann, "ann-3"), (ben, "ben-1")):
        threads.append(threading.Thread(target=run, args=(workspace, name)))
        threads[-1].start()
        folder = workspace.root / "jobs" / name
        wait_until(lambda folder=folder: count_jobs_before(folder) > 0)
    before = [count_jobs_before(ann.root / "jobs" / name) for name in ("ann-2", "ann-3")]
    assert count_jobs_before(ben.root / "jobs" / "ben-1") == 1 and before == [2, 3]
    end.set()
    for thread in threads:
        thread.join(LONG)
    assert order == ["ann-1", "ben-1", "ann-2", "ann-3"]
    assert not list((lab / shared_queue.FOLDER).glob("*.*.*"))


def test_turns_do_not_depend_on_the_clock(lab):
    """Ann's last start is the newest, though Ben's file has a later time. It is Ben's turn."""
    ann, ben = make_visitor(lab, "ann"), make_visitor(lab, "ben")
    for number, workspace in enumerate((ben, ann, ben, ann)):
        with hold_turn(workspace.root / "jobs" / f"past-{number}", lambda: None):
            pass
    queue = lab / shared_queue.FOLDER
    names = [workspace.root.parent.name for workspace in (ann, ben)]
    starts = [queue / f"{name}.last-start" for name in names]
    assert [file.read_text() for file in starts] == ["4", "3"]
    os.utime(starts[0], (1, 1))
    tickets = [queue / f"{name}.5.next" for name in names]
    for ticket in tickets:
        ticket.touch()
    with hold_lock(tickets[0]), hold_lock(tickets[1]):
        assert [one.file for one in shared_queue._list_tickets(queue)] == tickets[::-1]


def test_a_killed_job_does_not_keep_the_others_waiting(lab):
    ann, ben = make_visitor(lab, "ann"), make_visitor(lab, "ben")
    job = ann.root / "jobs" / "1"
    with hold_in_process("vocadapt.lab.jobs.shared_queue hold_turn", job, "list") as process:
        process.kill()
    with hold_turn(ben.root / "jobs" / "2", lambda: None):
        pass


def test_a_waiting_job_can_be_canceled(lab):
    ann, ben = make_visitor(lab, "ann"), make_visitor(lab, "ben")

    def stop() -> None:
        raise KeyboardInterrupt

    with hold_turn(ann.root / "jobs" / "1", lambda: None):
        with pytest.raises(KeyboardInterrupt), hold_turn(ben.root / "jobs" / "2", stop):
            pass
        assert not list((lab / shared_queue.FOLDER).glob("*.*.*"))


def wait_until(check, seconds: float = LONG) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end
        time.sleep(0.01)
