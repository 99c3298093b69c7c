import errno
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from tests.material import counting_step
from tests.material.counting_step import CountingStep
from tests.material.input_errors import raises_input_error
from tests.material.lab import LONG, wait_for, write_text
from tests.material.nightly import mark_slow
from vocadapt.errors import Canceled, InputError
from vocadapt.lab.inputs.corpora import build_counts_path, read_corpus
from vocadapt.lab.jobs import worker
from vocadapt.lab.jobs.job import process_start_time
from vocadapt.lab.jobs.living import FOLDER as LIVING
from vocadapt.lab.jobs.queue import (
    find_job,
    list_jobs,
    list_living_jobs,
    list_promised_names,
    remove_remains,
    resume,
    start,
)
from vocadapt.lab.jobs.status import Metrics, Status, read_metrics, read_status, write_status
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.import_vectors import ImportVectorsStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.spaces.word2vec.trainer import Word2VecSettings

SOON = 20  # seconds


@pytest.fixture
def text(tmp_path):
    return write_text(tmp_path / "text.txt")


@pytest.fixture
def quick(text):
    return Spec(CorpusStep(copy=True), {"text": text})


@pytest.fixture
def endless(text, monkeypatch):
    """A step that takes many minutes."""
    counting_step.use(monkeypatch, PYTHONPATH=str(Path(__file__).parents[2]))
    return Spec(CountingStep(1_000_000, 0.01), {"text": text})


@pytest.fixture(autouse=True)
def nothing_goes_on(workspace):
    yield
    for job in list_jobs(workspace):
        if job.status().alive:
            job.cancel(grace=2)


def kill(job):
    os.kill(read_status(job.folder).pid, signal.SIGKILL)


def left_in(folder):
    """Names in a folder, without the record of living jobs, which names no others."""
    names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if LIVING in names:
        names.remove(LIVING)
        assert {mark.name for mark in (folder / LIVING).iterdir()} <= set(names)
    return names


def test_a_job_is_done_and_its_artifact_is_there(workspace, quick):
    job = start(workspace, quick, "mine")
    assert job.status().alive
    assert job.wait(LONG).state == "done", job.log()
    assert workspace.artifact("corpora", "mine").manifest.numbers["files"] == 1
    assert left_in(workspace.root / "corpora") == ["mine"]
    assert job.status().fraction == 1.0 and job.status().started > 0
    assert [found.id for found in list_jobs(workspace)] == [job.id]
    assert find_job(workspace, job.id).spec == quick.absolute()


def test_a_job_gives_the_same_bits_as_the_step(workspace, text, tiny_bert, tmp_path):
    settings = VectorsStep(word2vec=Word2VecSettings(epochs=1, min_count=1, workers=1))
    spec = Spec(settings, {"text": text, "model": tiny_bert})
    job = start(workspace, spec, "v")
    run_step(spec, tmp_path / "v")
    assert job.wait(LONG).state == "done", job.log()
    assert (job.target / "vectors.safetensors").read_bytes() == (
        tmp_path / "v" / "vectors.safetensors"
    ).read_bytes()


def test_a_job_that_fails_says_why_and_leaves_nothing(workspace, quick, text):
    text.write_text("")
    status = start(workspace, quick, "mine").wait(LONG)
    assert status.state == "failed"
    assert "empty" in status.error and status.remedy
    assert left_in(workspace.root / "corpora") == []


def test_a_bug_in_a_job_keeps_its_trace_in_the_log(workspace, quick, monkeypatch, capsys):
    job = start(workspace, quick, "mine")
    job.wait(LONG)
    monkeypatch.setattr(worker, "run_step", lambda *given, **more: 1 / 0)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    assert worker.run_job(job.folder) == 1
    assert job.status().state == "failed" and "ZeroDivisionError" in job.status().error
    assert "Traceback" in capsys.readouterr().err


def test_a_running_job_reports_its_progress(workspace, endless):
    job = start(workspace, endless, "v")
    wait_for(job, "running")
    assert 0 <= wait_for_message(job, "square").fraction < 1
    time.sleep(1.6)
    seconds = [line["seconds"] for line in read_metrics(job.folder)]
    # Twice a second at most.
    assert len(seconds) > 1 and min(b - a for a, b in pairwise(seconds)) > 0.4
    assert not workspace.artifacts("corpora")


@pytest.mark.parametrize("grace", [10, 0])
def test_a_canceled_job_leaves_nothing_half_made(workspace, endless, grace):
    job = start(workspace, endless, "v")
    wait_for(job, "running")
    job.cancel(grace)
    wait_for(job, "canceled", 8)
    assert left_in(workspace.root / "corpora") == []
    assert job.cancel().state == "canceled"  # again does no harm


def test_a_waiting_job_is_canceled_without_having_run(workspace, endless, quick):
    first, second = start(workspace, endless, "v"), start(workspace, quick, "mine")
    wait_for(first, "running")
    assert second.status().state == "waiting"
    second.cancel(grace=SOON)
    assert second.status().state == "canceled" and second.status().started == 0
    assert first.status().state == "running"


def test_a_job_names_the_canceled_job_whose_result_it_needs(workspace, endless, quick):
    busy = start(workspace, endless, "v")
    wait_for(busy, "running")
    first = start(workspace, quick, "mine")
    settings = CorpusStep(copy=True)
    needs = Spec(settings, {"text": workspace.folder("corpora", "mine")})
    second = start(workspace, needs, "copy")
    first.cancel(grace=SOON)
    busy.cancel(grace=SOON)
    status = second.wait(LONG)
    assert status.state == "failed"
    assert "mine" in status.error and "canceled" in status.error and "mine" in status.remedy
    # The remedy works: it can be resumed as soon as the other is done.
    assert not second.may_succeed
    assert resume(workspace, first).wait(LONG).state == "done", first.log()
    assert second.may_succeed
    assert resume(workspace, second).wait(LONG).state == "done", second.log()


@pytest.mark.parametrize("moment", [0.5, *mark_slow([0.0, 1.0, 2.0])])
def test_after_kill_9_a_job_is_interrupted_and_the_next_one_runs(workspace, endless, quick, moment):
    job = start(workspace, endless, "v")
    wait_for(job, "running")
    time.sleep(moment)
    kill(job)
    status = wait_for(job, "interrupted", SOON)
    assert "killed" in status.error
    assert workspace.artifacts("corpora") == []
    assert start(workspace, quick, "mine").wait(LONG).state == "done"


def test_kill_9_before_its_first_status_interrupts_too(workspace, quick):
    job = start(workspace, quick, "mine")
    assert job.status().state == "waiting"
    [child] = [
        process
        for process in psutil.Process().children()
        if str(job.folder) in " ".join(process.cmdline())
    ]
    child.kill()
    assert wait_for(job, "interrupted", SOON).error


def test_an_interrupted_job_is_resumed_in_its_folder(workspace, endless, quick):
    finished = start(workspace, quick, "mine")
    finished.wait(LONG)
    job = start(workspace, endless, "v")
    wait_for(job, "running")
    kill(job)
    wait_for(job, "interrupted", SOON)
    log = job.log()
    assert resume(workspace, job).id == job.id
    status = wait_for(job, "running")
    assert [state for state, _ in status.past] == ["interrupted"]
    assert job.log().startswith(log) and "run 2" in job.log()
    assert len(list_jobs(workspace)) == 2
    assert workspace.artifact("corpora", "mine")  # no finished result was lost


def test_two_starts_at_once_run_one_after_the_other(workspace, quick):
    four = [start(workspace, quick, f"mine-{number}") for number in range(4)]
    seen = set()
    while any(job.status().alive for job in four):
        states = tuple(job.status().state for job in four)
        seen.add(states.count("running"))
        time.sleep(0.01)
    assert [job.status().state for job in four] == ["done"] * 4, [job.log() for job in four]
    assert max(seen) <= 1
    started = [job.status().started for job in four]
    assert started == sorted(started)  # first come, first served
    assert len(workspace.artifacts("corpora")) == 4


def test_a_job_outlives_the_process_that_started_it(workspace, quick):
    code = """
import sys
from pathlib import Path
from vocadapt.lab.jobs.queue import start
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
start(Workspace(Path(sys.argv[1])), Spec.from_json(sys.argv[2]), "mine")
"""
    command = [sys.executable, "-c", code, str(workspace.root), quick.to_json()]
    subprocess.run(command, check=True, timeout=LONG, cwd=Path(__file__).parents[2])
    [job] = list_jobs(workspace)
    assert job.wait(LONG).state == "done", job.log()


def test_a_reused_pid_is_never_signalled(workspace, endless, monkeypatch):
    job = start(workspace, endless, "v")
    wait_for(job, "running")
    with monkeypatch.context() as patch:
        stranger = replace(read_status(job.folder), process_started=1.0)
        patch.setattr("vocadapt.lab.jobs.job.read_status", lambda folder: stranger)
        job._send(signal.SIGKILL)
    time.sleep(0.3)
    assert job.status().state == "running"


def test_a_bad_name_starts_nothing(workspace, quick):
    with raises_input_error("invalid-name"):
        start(workspace, quick, "../../x")
    assert not (workspace.root / "jobs").exists()


def test_a_taken_name_is_reported_at_once(workspace, quick):
    start(workspace, quick, "mine").wait(LONG)
    with raises_input_error("already-exists"):
        start(workspace, quick, "mine")
    assert start(workspace, quick, "mine", overwrite=True).wait(LONG).state == "done"


def test_an_unknown_job_is_reported(workspace):
    for job_id in ("nothing", "../x"):
        with pytest.raises(InputError):
            find_job(workspace, job_id)


STARTER = """
import sys, time
from pathlib import Path
from vocadapt.errors import Canceled, InputError
from vocadapt.lab.jobs.queue import start
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
time.sleep(max(0.0, float(sys.argv[3]) - time.time()))
try:
    print(start(Workspace(Path(sys.argv[1])), Spec.from_json(sys.argv[2]), "mine").id, flush=True)
except InputError as error:
    print(f"refused: {error}")
    sys.exit(2)
time.sleep(float(sys.argv[4]))
"""


def starter(workspace, spec, at=0.0, lives=0.0):
    """A process of its own that starts a job at a moment, and lives on for some seconds: what a
    server is to a job.
    """
    given = [workspace.root, spec.to_json(), str(at), str(lives)]
    command = [sys.executable, "-c", STARTER, *given]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )


def test_of_two_processes_that_start_the_same_target_at_once_one_wins(workspace, quick):
    at = time.time() + 2  # both are awake by then
    two = [starter(workspace, quick, at) for _ in range(2)]
    said = [process.communicate(timeout=LONG)[0] for process in two]
    codes = [process.returncode for process in two]
    [job] = list_jobs(workspace)
    assert job.wait(LONG).state == "done", job.log()
    assert sorted(codes) == [0, 2], said
    assert left_in(workspace.root / "corpora") == ["mine"]
    assert left_in(workspace.root / "jobs") == [job.id]


def test_kill_9_of_the_server_does_not_touch_its_job(workspace, text, tiny_bert):
    # The server is a process, which knows no step of tests.
    write_text(text, lines=4000)
    settings = VectorsStep(word2vec=Word2VecSettings(epochs=20_000, min_count=1, workers=1))
    spec = Spec(settings, {"text": text, "model": tiny_bert})
    server = starter(workspace, spec, lives=LONG)
    job_id = server.stdout.readline().strip()
    job = find_job(workspace, job_id)
    wait_for(job, "running")
    server.kill()
    server.wait(SOON)
    before = wait_for_message(job, "epoch")
    time.sleep(1)
    assert job.status().state == "running" and job.status().updated > before.updated
    assert job.cancel(grace=10).state == "canceled"


def wait_for_message(job, start):
    end = time.monotonic() + LONG
    while not job.status().message.startswith(start):
        assert time.monotonic() < end, job.log()
        time.sleep(0.05)
    return job.status()


def test_what_a_living_job_will_make_is_not_started_twice(workspace, endless):
    job = start(workspace, endless, "v")
    with raises_input_error("being-made", job.id):
        start(workspace, endless, "v", overwrite=True)
    assert list_jobs(workspace) == [job]
    assert list_promised_names(workspace, "corpora") == {"v"}
    assert list_promised_names(workspace, "models") == set()
    job.cancel(grace=10)
    assert list_promised_names(workspace, "corpora") == set()


@pytest.mark.slow
def test_waiting_jobs_say_behind_which_job_they_wait(workspace, endless, quick):
    first = start(workspace, endless, "v")
    wait_for(first, "running")
    second, third = start(workspace, quick, "b"), start(workspace, quick, "c")
    assert (first.waits_for(), second.waits_for(), third.waits_for()) == (None, first, second)
    second.cancel(grace=SOON)
    assert third.waits_for() == first
    first.cancel(grace=10)
    assert third.wait(LONG).state == "done"
    resume(workspace, first)
    wait_for(first, "running")
    fourth = start(workspace, quick, "d")
    resume(workspace, second)  # older, but it asked later
    assert (fourth.waits_for(), second.waits_for()) == (first, fourth)


@pytest.mark.slow
def test_ten_waiting_jobs_keep_their_order_without_one_of_them_and_without_the_server(
    workspace, endless, quick
):
    # 1. Ten jobs behind a running one, started by a server that is then killed.
    first = start(workspace, endless, "v")
    wait_for(first, "running")
    server = starter(workspace, quick, lives=LONG)  # the first of the ten
    begun = find_job(workspace, server.stdout.readline().strip())
    server.kill()
    server.wait(SOON)
    waiting = [begun, *(start(workspace, quick, f"c-{number}") for number in range(9))]
    assert [job.status().state for job in waiting] == ["waiting"] * 10
    assert [job.waits_for() for job in waiting] == [first, *waiting[:-1]]
    # 2. One in the middle is canceled; a new server cleans up when it starts.
    canceled = waiting.pop(5)
    assert canceled.cancel(grace=SOON).state == "canceled"
    remove_remains(workspace)
    assert [job.waits_for() for job in waiting] == [first, *waiting[:-1]]
    assert list_living_jobs(workspace) == [first, *waiting][::-1]
    # 3. They run one after the other, in their order.
    first.cancel(grace=10)
    assert [job.wait(2 * LONG).state for job in waiting] == ["done"] * 9
    started = [read_status(job.folder).started for job in waiting]
    ended = [read_status(job.folder).updated for job in waiting]
    assert started == sorted(started)
    assert all(end <= begin for end, begin in zip(ended, started[1:], strict=False))
    assert canceled.status().state == "canceled" and not canceled.target.exists()


def test_only_what_ended_unfinished_is_resumed(workspace, quick, endless, text):
    done = start(workspace, quick, "mine")
    assert done.wait(LONG).state == "done"
    with raises_input_error("nothing-to-resume"):
        resume(workspace, done)
    alive = start(workspace, endless, "v")
    with raises_input_error("nothing-to-resume"):
        resume(workspace, alive)
    wait_for(alive, "running")
    alive.cancel(grace=10)
    run_step(quick, workspace.folder("corpora", "v"))  # another was quicker
    with raises_input_error("already-exists"):
        resume(workspace, alive)
    assert alive.status().state == "canceled"
    assert left_in(workspace.root / "corpora") == ["mine", "v"]


def test_a_failed_job_is_resumed_when_its_cause_is_fixed(workspace, quick, text):
    text.write_text("")
    job = start(workspace, quick, "mine")
    assert job.wait(LONG).state == "failed"
    text.write_text("now there is a line\n")
    resume(workspace, job)
    status = job.wait(LONG)
    assert (status.state, status.error) == ("done", ""), job.log()
    assert [state for state, _ in status.past] == ["failed"]
    assert workspace.artifact("corpora", "mine").manifest.job == job.id


def test_a_moved_workspace_takes_its_jobs_along(workspace, quick, text, tmp_path):
    text.write_text("")
    start(workspace, quick, "mine").wait(LONG)
    workspace.root.rename(tmp_path / "moved")
    text.write_text("a line\n")
    [job] = list_jobs(Workspace(tmp_path / "moved"))
    assert resume(Workspace(tmp_path / "moved"), job).wait(LONG).state == "done", job.log()
    assert left_in(tmp_path / "moved" / "corpora") == ["mine"] and not workspace.root.exists()


def test_sigterm_from_outside_interrupts_and_does_not_cancel(workspace, endless):
    job = start(workspace, endless, "v")
    wait_for(job, "running")
    os.kill(read_status(job.folder).pid, signal.SIGTERM)
    status = job.wait(SOON)
    assert status.state == "interrupted" and "terminated" in status.error
    assert left_in(workspace.root / "corpora") == []


def test_an_end_that_other_code_swallowed_is_taken_up_again(workspace, quick):
    """Libraries catch everything while they are imported: a signal's exception that comes just then
    is lost.
    """
    job = start(workspace, quick, "mine")
    job.wait(LONG)
    before = signal.getsignal(signal.SIGTERM)
    try:
        reporter = worker.Reporter(job, worker.install_signal_handler())
        reporter(0.1)
        with suppress(Canceled):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)
        time.sleep(worker.LOOK_EVERY)
        with pytest.raises(Canceled):
            reporter(0.2)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_setting_the_clock_changes_nothing(workspace, endless, monkeypatch):
    job = start(workspace, endless, "v")
    wait_for(job, "running")
    real, boot = time.time, psutil._pslinux.boot_time
    for hours in (-30, 30):  # what the machine says after its clock was set
        monkeypatch.setattr(time, "time", lambda shift=3600 * hours: real() + shift)
        monkeypatch.setattr(psutil._pslinux, "boot_time", lambda shift=3600 * hours: boot() + shift)
        status = job.status()
        assert status.state == "running" and status.seconds >= 0
        assert (status.estimate_seconds_left() or 0) >= 0
        assert process_start_time(status.pid) == pytest.approx(status.process_started, abs=1)
    assert job.cancel(grace=10).state == "canceled"


@pytest.mark.slow
def test_a_stopped_process_wakes_up_as_if_nothing_had_been(workspace, endless):
    """A laptop that sleeps."""
    job = start(workspace, endless, "v")
    wait_for_message(job, "square")
    os.kill(read_status(job.folder).pid, signal.SIGSTOP)
    time.sleep(1.5)
    asleep = job.status()
    os.kill(asleep.pid, signal.SIGCONT)
    time.sleep(1.5)
    assert asleep.state == "running"
    assert job.status().state == "running"
    assert job.status().updated > asleep.updated


def test_what_a_start_left_that_came_to_nothing_is_swept(workspace, quick):
    for step in ("corpus", "make-pack"):
        (workspace.root / "jobs" / f"20260101-000000-000000-{step}").mkdir(parents=True)
    (workspace.root / "jobs" / "mine").mkdir()  # not ours
    counts = workspace.root / "counts"
    counts.mkdir()
    (counts / ".0123.tsv.77").write_text("half")
    (counts / "0123.tsv").write_text("whole")
    job = start(workspace, quick, "x")
    assert left_in(workspace.root / "jobs") == [job.id, "mine"] and left_in(counts) == ["0123.tsv"]


def test_the_log_describes_the_job_and_its_step(workspace, text, monkeypatch):
    counting_step.use(monkeypatch, PYTHONPATH=str(Path(__file__).parents[2]))
    job = start(workspace, Spec(CountingStep(60, 0.03), {"text": text}), "n")
    assert job.wait(LONG).state == "done"
    log = job.log()
    assert "waiting" in log and "vocadapt count" in log and "done after" in log, log
    assert re.search(r"\d+% square \d", log)
    assert not (job.folder / "checkpoint").exists()
    assert job.log(lines=2).splitlines() == log.splitlines()[-2:]


def test_a_progress_bar_in_the_log_is_one_line(workspace, quick):
    job = start(workspace, quick, "x")
    job.wait(LONG)
    (job.folder / "log.txt").write_bytes(b"begin\n\r 10%\r 50%\r100%\r\nend\n")
    assert job.log() == "begin\n100%\nend"


@pytest.mark.parametrize("still_full_at_the_end", [True, *mark_slow([False])])
def test_a_disk_that_is_full_for_a_while_does_not_end_a_job(
    workspace, text, monkeypatch, tmp_path, still_full_at_the_end
):
    """The step itself writes little: only status, metrics and checkpoint find no room."""
    flag = tmp_path / "full"
    counting_step.use(
        monkeypatch, PYTHONPATH=str(Path(__file__).parents[2]), **{counting_step.FULL: str(flag)}
    )
    job = start(workspace, Spec(CountingStep(100, 0.03), {"text": text}), "n")
    wait_for(job, "running")
    flag.write_text("" if still_full_at_the_end else "status")
    time.sleep(1.5)
    status = job.status()
    if still_full_at_the_end:
        status = job.wait(LONG)
        assert status.state == "failed" and "full" in status.error and status.remedy, job.log()
        assert left_in(workspace.root / "corpora") == []
        assert [path for path in job.folder.rglob(".*")] == []
        flag.unlink()
        resume(workspace, job)
    else:
        assert status.state == "running"
        flag.unlink()
    assert job.wait(LONG).state == "done", job.log()


def test_a_status_on_a_full_disk_is_written_over_the_old_one(tmp_path, monkeypatch):
    write_status(tmp_path, Status("running", message="x" * 300, pid=7))
    size = (tmp_path / "status.json").stat().st_size

    def full(path, value):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(strict_json, "write", full)
    write_status(tmp_path, Status("failed", error="why", pid=7))
    assert read_status(tmp_path) == Status("failed", error="why", pid=7)
    assert (tmp_path / "status.json").stat().st_size == size


def test_metrics_are_bounded_and_outlive_a_kill(tmp_path, monkeypatch):
    monkeypatch.setattr("vocadapt.lab.jobs.status.MAX_LINES", 100)
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    metrics = Metrics(tmp_path, 1.0)
    line = {"run": 1, "fraction": 0.5, "message": "m"}
    for now[0] in range(1000):
        metrics.add({**line, "seconds": now[0]})
    kept = [found["seconds"] for found in read_metrics(tmp_path)]
    # Every second, then every other … as many as fit in a hundred lines.
    assert kept == list(range(0, 1000, 16))
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"run": 1, "sec')
    assert len(read_metrics(tmp_path)) == len(kept)
    Metrics(tmp_path, 1.0).add({**line, "seconds": 2000})
    assert [found["seconds"] for found in read_metrics(tmp_path)] == [*kept, 2000]


def test_the_time_left_of_a_resumed_job_counts_from_where_it_went_on():
    now = time.time()
    status = Status(
        "running", fraction=0.7, first=0.6, paced=now - 10, started=now - 15, updated=now
    )
    assert status.estimate_seconds_left() == pytest.approx(30, abs=0.5)
    assert replace(status, paced=now - 1).estimate_seconds_left() is None  # too early to tell
    assert replace(status, fraction=0.5).estimate_seconds_left() is None  # it went back
    assert replace(status, fraction=1.0).estimate_seconds_left() == 0


def test_the_time_left_follows_from_the_pace():
    now = time.time()
    status = Status("running", fraction=0.25, started=now - 10, updated=now)
    assert status.estimate_seconds_left() == pytest.approx(30, abs=0.5)
    assert Status("running", started=now - 10).estimate_seconds_left() is None
    early = Status("running", fraction=0.25, started=now - 1, updated=now)
    assert early.estimate_seconds_left() is None
    assert Status("done", fraction=1.0, started=now - 10, updated=now).seconds == pytest.approx(10)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("spec.json", ""),
        ("spec.json", "[]"),
        ("spec.json", "{}"),
        ("spec.json", '{"spec": 3, "target": "x"}'),
        ("spec.json", '{"spec": {"step": "fly"}, "target": "x", "overwrite": false}'),
        ("status.json", '{"state": "runn'),
        ("status.json", "\0"),
        ("status.json", '{"state": "flying"}'),
    ],
)
def test_a_job_that_cannot_be_read_is_not_listed(workspace, quick, file, content):
    for name, asked in {"1-good": quick, "2-torn": quick}.items():
        folder = workspace.root / "jobs" / name
        folder.mkdir(parents=True)
        order = {
            "spec": asked.to_dict(),
            "target": str(workspace.root / "corpora" / "x"),
            "overwrite": False,
        }
        strict_json.write(folder / "spec.json", order)
        strict_json.write(folder / "status.json", {"state": "done"})
    (workspace.root / "jobs" / "2-torn" / file).write_text(content)
    assert [job.id for job in list_jobs(workspace)] == ["1-good"]


@pytest.mark.parametrize("kind", ["corpora", "vectors"])
def test_an_upload_is_taken_in_and_not_left_twice(workspace, text, tiny_bert, kind):
    upload = workspace.root / "uploads" / "mine.txt"
    upload.parent.mkdir(parents=True)
    upload.write_text(text.read_text() if kind == "corpora" else "aspirin 1 2\ndrug 3 4\n")
    spec = {
        "corpora": Spec(CorpusStep(copy=True), {"text": upload, "model": tiny_bert}),
        "vectors": Spec(ImportVectorsStep(), {"file": upload}),
    }[kind]
    assert start(workspace, spec, "mine").wait(LONG).state == "done"
    assert left_in(upload.parent) == []
    made = workspace.artifact(kind, "mine")
    assert made.explain_staleness(workspace) == []
    assert str(upload) not in made.manifest.command
    if kind == "corpora":
        assert list(read_corpus([made.folder])) == list(read_corpus([text]))
        assert f"words count {made.folder}" in made.manifest.command
        assert build_counts_path(
            workspace.root, read_corpus([made.folder]), open_model(tiny_bert).splitter
        ).is_file()
    else:
        assert "vectors import mine.txt" in made.manifest.command


def test_an_upload_stays_until_it_is_taken_in_and_other_files_always(workspace, text):
    upload = workspace.root / "uploads" / "mine.txt"
    upload.parent.mkdir(parents=True)
    upload.write_text("")
    empty = Spec(CorpusStep(copy=True), {"text": upload})
    assert start(workspace, empty, "empty").wait(LONG).state == "failed"
    upload.write_text("the drug\n")
    by_name = Spec(CorpusStep(), {"text": upload})  # the corpus is nothing without the file
    assert start(workspace, by_name, "named").wait(LONG).state == "done"
    elsewhere = Spec(CorpusStep(copy=True), {"text": text})
    assert start(workspace, elsewhere, "elsewhere").wait(LONG).state == "done"
    assert upload.is_file() and text.is_file()


def test_a_long_log_keeps_its_last_lines_and_is_appended_to(tmp_path):
    path = tmp_path / "log.txt"
    with path.open("ab") as log:  # as the job's process holds it
        log.write(b"".join(b"line %05d\n" % number for number in range(1000)))
        log.flush()
        worker.truncate_log(path, longest=11_000, kept=105)
        assert path.stat().st_size == 11_000
        worker.truncate_log(path, longest=10_999, kept=105)
        log.write(b"end\n")
    lines = path.read_text().splitlines()
    assert lines == [
        "[the first 10,901 bytes of this log were removed]",
        *(f"line {n:05d}" for n in range(991, 1000)),
        "end",
    ]
    worker.truncate_log(tmp_path / "absent.txt")
