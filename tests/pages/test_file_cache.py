"""Small files are read once per change, however often pages list them."""

import os
import time
from pathlib import Path

import pytest

from vocadapt.errors import InputError
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.living import mark_living
from vocadapt.lab.jobs.queue import list_jobs, list_living_jobs, list_promised_names
from vocadapt.lab.jobs.status import Status, write_status
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.file_cache import MIN_AGE, CachedReader
from vocadapt.lab.workspace.locks import hold_lock
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace, open_artifact


def settle() -> None:
    """Wait until what was just written counts as settled."""
    time.sleep(1.5 * MIN_AGE / 1e9)


class Counting:
    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, path: Path) -> str:
        self.read.append(path.name)
        return path.read_text()


def test_a_file_is_read_again_only_when_it_changed(tmp_path):
    count = Counting()
    reader, file = CachedReader(count), tmp_path / "a"
    file.write_text("one")
    settle()
    assert [reader(file), reader(file)] == ["one", "one"] and count.read == ["a"]
    file.write_text("two")  # as long as before
    os.utime(file, (1, 1))
    settle()
    assert [reader(file), reader(file)] == ["two", "two"] and count.read == ["a", "a"]
    (tmp_path / "b").write_text("new")
    os.replace(tmp_path / "b", file)
    assert reader(file) == "new"
    file.unlink()
    with pytest.raises(FileNotFoundError):
        reader(file)


def test_a_file_that_was_just_written_is_not_kept(tmp_path):
    count = Counting()
    reader, file = CachedReader(count), tmp_path / "a"
    for text in ("one", "two", "six"):
        file.write_text(text)
        assert reader(file) == text


def test_no_more_than_so_many_are_kept_and_what_raises_is_not(tmp_path):
    reader = CachedReader(Counting(), max_entries=3)
    for number in range(10):
        (tmp_path / str(number)).write_text(str(number))
    settle()
    for number in range(10):
        reader(tmp_path / str(number))
    assert len(reader) == 3

    def refuse(path: Path) -> str:
        raise InputError("no")

    refusing = CachedReader(refuse)
    with pytest.raises(InputError):
        refusing(tmp_path / "1")
    assert len(refusing) == 0


@pytest.fixture
def full(tmp_path) -> Workspace:
    """A workspace with 40 corpora and 40 jobs."""
    workspace = Workspace(tmp_path / "w")
    (tmp_path / "text.txt").write_text("heart disease\n", encoding="utf-8")
    for number in range(40):
        folder = workspace.folder("corpora", f"c-{number}")
        folder.mkdir(parents=True)
        strict_json.write(
            folder / "corpus.json", {"files": [str(tmp_path / "text.txt")], "settings": {}}
        )
        Manifest("corpora", folder.name, {}, numbers={"words": number}).save(folder)
        job = workspace.root / "jobs" / f"20260101-0000{number:02d}-000000-corpus"
        job.mkdir(parents=True)
        spec = Spec(CorpusStep(), {"text": ("/none.txt",)})
        strict_json.write(
            job / "spec.json",
            {"spec": spec.to_dict(), "target": f"corpora/j-{number}", "overwrite": False},
        )
        write_status(job, Status("done", queued=1.0, started=1.0, updated=2.0))
    settle()
    return workspace


def test_every_page_run_reads_each_manifest_and_each_job_at_most_once(full, open_page, monkeypatch):
    loaded, parsed = [], []
    load, parse = Manifest.load, Spec.from_dict

    def load_recorded(cls, folder):
        loaded.append(folder)
        return load(folder)

    def parse_recorded(cls, *given):
        parsed.append(given[1])
        return parse(*given)

    monkeypatch.setattr(Manifest, "load", classmethod(load_recorded))
    monkeypatch.setattr(Spec, "from_dict", classmethod(parse_recorded))
    for page in ("home", "jobs", "vectors", "projection"):
        before = len(loaded)
        app = open_page(page, full)
        assert not app.exception and not app.error
        # Read by the first page, and by none after it.
        corpora = [one for one in loaded if one.parent.name == "corpora" and one.name[:2] == "c-"]
        assert len(corpora) == len(set(corpora)) <= 40, page
        assert len(parsed) == len(set(parsed)) <= 40 and len(loaded) - before <= 41, page
    assert len(corpora) == 40 and len(parsed) == 40


def test_a_list_that_is_asked_for_again_looks_at_each_manifest_once(full, monkeypatch):
    full.artifacts("corpora")
    looked, stat = [], os.stat
    monkeypatch.setattr(
        os, "stat", lambda path, **given: (looked.append(str(path)), stat(path, **given))[1]
    )
    found = full.artifacts("corpora")
    monkeypatch.undo()
    manifests = [path for path in looked if path.endswith("manifest.json")]
    assert len(found) == 40 and len(manifests) == len(set(manifests)) == 40


def test_living_jobs_are_found_without_reading_the_others(full, monkeypatch):
    alive, read = list_jobs(full)[5], []
    mark_living(alive.folder)
    write_status(alive.folder, Status("running", queued=1.0, started=1.0, updated=2.0))
    readable = Job.readable.fget
    monkeypatch.setattr(Job, "readable", property(lambda job: (read.append(job), readable(job))[1]))
    assert list_living_jobs(full) == []  # no process holds its lock: it was interrupted
    with hold_lock(alive.folder):
        assert list_living_jobs(full) == [alive]
        assert list_promised_names(full, "corpora") == {alive.target.name}
    assert {job.id for job in read} == {alive.id}
    (alive.folder / "status.json").write_text("{")
    assert list_living_jobs(full) == []


def test_what_is_listed_follows_every_change(full):
    (full.root / "corpora" / "notes.txt").write_text("a")
    (full.root / "jobs" / "notes.txt").write_text("a")
    assert len(full.artifacts("corpora")) == 40 and len(list_jobs(full)) == 40
    folder = full.folder("corpora", "c-3")
    before = open_artifact(folder)
    Manifest("corpora", "c-3", {}, numbers={"words": 1_000}).save(folder)
    after = open_artifact(folder)
    assert after.manifest.numbers == {"words": 1_000} and after.stamp != before.stamp
    (folder / "manifest.json").unlink()
    assert len(full.artifacts("corpora")) == 39
    with pytest.raises(InputError, match=r"expected a manifest\.json"):
        open_artifact(folder)
    job = list_jobs(full)[0]
    write_status(job.folder, Status("canceled"))
    assert Job(job.folder).status().state == "canceled"
    (job.folder / "spec.json").unlink()
    for read in ("order", "spec"):
        with pytest.raises(InputError, match=r"it has no spec\.json"):
            getattr(Job(job.folder), read)
    assert len(list_jobs(full)) == 39
