"""Artifacts are renamed, deleted and restored; workspaces are copied, exported and opened elsewhere."""

import errno
import json
import shutil
import zipfile

import pytest

from tests.material.input_errors import raises_input_error
from tests.material.lab import write_job, write_text
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.lab.housekeeping import renames, trash
from vocadapt.lab.housekeeping.copies import copy_workspace, export_workspace, open_export
from vocadapt.lab.housekeeping.renames import (
    find_id,
    find_new_name,
    list_dependents,
    rename_artifact,
)
from vocadapt.lab.housekeeping.trash import (
    TRASH,
    delete_artifact,
    delete_job,
    empty_trash,
    find_deleted,
    list_trash,
    restore,
)
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.word_counts import WordCountsStep
from vocadapt.lab.workspace.drafts import open_draft
from vocadapt.lab.workspace.locks import is_locked
from vocadapt.lab.workspace.manifest import ARTIFACTS, Input, Manifest
from vocadapt.lab.workspace.notes import find_name, load_notes, save_note
from vocadapt.lab.workspace.workspace import Workspace


def list_names(workspace):
    return {f"{kind}/{one.name}" for kind in ARTIFACTS for one in workspace.artifacts(kind)}


def list_stale(workspace):
    return {
        one.name
        for kind in ARTIFACTS
        for one in workspace.artifacts(kind)
        if one.explain_staleness(workspace)
    }


def test_what_was_made_from_an_artifact_is_listed(seeded_copy):
    corpus = seeded_copy.artifacts("corpora")[0]
    found = {f"{one.kind}/{one.name}" for one in list_dependents(seeded_copy, corpus)}
    # The vectors were trained on the text, the alignment and the model made from the vectors.
    assert {"vectors/trials-vectors", "models/trials-model"} <= found
    assert f"corpora/{corpus.name}" not in found
    model = seeded_copy.artifact("models", "trials-model")
    assert "vectors/trials-vectors" not in {
        f"{one.kind}/{one.name}" for one in list_dependents(seeded_copy, model)
    }


def test_a_renamed_artifact_is_found_by_its_old_name_and_nothing_is_out_of_date(seeded_copy):
    stale = list_stale(seeded_copy)
    for kind, old in (
        ("corpora", seeded_copy.artifacts("corpora")[0].name),
        ("vectors", "trials-vectors"),
    ):
        save_note(seeded_copy, f"{kind}/{old}", "keep this")
        renamed = rename_artifact(seeded_copy, seeded_copy.artifact(kind, old), f"{old}-new")
        assert renamed.name == f"{old}-new" and not (seeded_copy.root / kind / old).exists()
        assert find_new_name(seeded_copy, old) == f"{old}-new"
        notes = load_notes(seeded_copy)
        assert notes[f"{kind}/{old}-new"].text == "keep this" and f"{kind}/{old}" not in notes
        assert list_stale(seeded_copy) == stale


def test_a_name_that_moved_twice_leads_to_the_last_one(seeded_copy):
    first = seeded_copy.artifact("models", "trials-model")
    second = rename_artifact(seeded_copy, first, "second")
    rename_artifact(seeded_copy, second, "third")
    assert (
        find_new_name(seeded_copy, "trials-model")
        == find_new_name(seeded_copy, "second")
        == "third"
    )
    # Back to the first name: it is no old name any more.
    rename_artifact(seeded_copy, seeded_copy.artifact("models", "third"), "trials-model")
    assert find_new_name(seeded_copy, "trials-model") == ""
    assert find_new_name(seeded_copy, "third") == "trials-model"


def make_model(workspace, name):
    """A model without files, made now."""
    with open_draft(workspace.folder("models", name)) as draft:
        Manifest("models", name, {}).save(draft)
    return workspace.artifact("models", name)


def rename(workspace, old, new):
    return rename_artifact(workspace, workspace.artifact("models", old), new)


def test_a_later_artifact_of_an_old_name_is_never_opened_for_the_first_nor_the_first_for_it(
    workspace,
):
    make_model(workspace, "a")
    rename(workspace, "a", "b")
    assert find_new_name(workspace, "a") == "b"
    # Another a: the name is its own while it exists, and ambiguous when it is gone.
    deleted = delete_artifact(workspace, make_model(workspace, "a"))
    assert find_new_name(workspace, "a") == ""
    restore(workspace, deleted)
    rename(workspace, "a", "c")
    assert find_new_name(workspace, "a") == ""
    assert find_new_name(workspace, "b") == find_new_name(workspace, "c") == ""


def test_a_later_artifact_of_the_new_name_is_not_opened_by_the_old_one(workspace):
    make_model(workspace, "a")
    deleted = delete_artifact(workspace, rename(workspace, "a", "b"))
    make_model(workspace, "b")
    assert find_new_name(workspace, "a") == ""
    # The first one comes back under a third name: the old link opens it there.
    restore(workspace, deleted, "c")
    assert find_new_name(workspace, "a") == "c"


def test_names_that_change_in_a_cycle_lead_to_the_right_artifacts(workspace):
    for name in "ab":
        make_model(workspace, name)
    made = {name: workspace.artifact("models", name).manifest.created for name in "ab"}
    for old, new in ("ax", "ba", "xb"):  # a and b change places
        rename(workspace, old, new)
    now = {one.name: one.manifest.created for one in workspace.artifacts("models")}
    assert now == {"a": made["b"], "b": made["a"]}
    assert find_new_name(workspace, "x") == "b"
    assert find_new_name(workspace, "a") == find_new_name(workspace, "b") == ""
    # Back and forth: the first name is in use again, and the other one leads to it.
    for old, new in ("ac", "ca", "ac", "ca"):
        rename(workspace, old, new)
    assert find_new_name(workspace, "c") == "a" and find_new_name(workspace, "a") == ""


def test_an_old_name_of_one_kind_is_not_taken_for_an_artifact_of_another_kind(workspace):
    make_model(workspace, "a")
    with open_draft(workspace.folder("vectors", "a")) as draft:
        Manifest("vectors", "a", {}).save(draft)
    rename(workspace, "a", "b")
    assert find_new_name(workspace, "a") == "" and find_new_name(workspace, "a", "vectors") == ""
    assert find_new_name(workspace, "a", "models") == "b"


def make_vectors(workspace, model):
    """Vectors without files, made from a model."""
    with open_draft(workspace.folder("vectors", "v")) as draft:
        given = Input((f"models/{model.name}",), model.stamp)
        Manifest("vectors", "v", {}, {"model": given}).save(draft)
    return workspace.artifact("vectors", "v")


def test_what_is_restored_refers_to_the_new_names(workspace):
    deleted = delete_artifact(workspace, make_vectors(workspace, make_model(workspace, "a")))
    rename(workspace, "a", "b")
    restore(workspace, deleted)
    vectors = workspace.artifact("vectors", "v")
    assert vectors.manifest.inputs["model"].paths == ("models/b",)
    assert vectors.explain_staleness(workspace) == []
    # The model comes back under another name: what was made from it refers to that one.
    restore(workspace, delete_artifact(workspace, workspace.artifact("models", "b")), "c")
    vectors = workspace.artifact("vectors", "v")
    assert vectors.manifest.inputs["model"].paths == ("models/c",)
    assert vectors.explain_staleness(workspace) == []


def test_jobs_that_used_or_made_a_renamed_artifact_know_its_new_name(workspace, tmp_path):
    corpus = Spec(CorpusStep(), {"text": str(write_text(tmp_path / "text.txt", lines=1))})
    first = write_job(workspace, corpus, "a", "done")
    inputs = {"text": str(workspace.folder("corpora", "a")), "model": str(tmp_path / "none")}
    second = write_job(workspace, Spec(WordCountsStep(), inputs), "n", "failed")
    renamed = rename_artifact(workspace, workspace.artifact("corpora", "a"), "b")
    first, second = (queue.find_job(workspace, job.id) for job in (first, second))
    assert first.finished and first.target == renamed.folder
    assert second.spec.one("text") == str(renamed.folder) and second.target.name == "n"
    # Another artifact of the first name is not that of the job.
    write_job(workspace, corpus, "a", "done", number=1)
    rename_artifact(workspace, workspace.artifact("corpora", "a"), "c")
    assert queue.find_job(workspace, first.id).target == renamed.folder


def test_what_was_made_from_a_second_artifact_of_a_name_does_not_refer_to_the_first(workspace):
    make_model(workspace, "a")
    rename(workspace, "a", "b")
    make_vectors(workspace, make_model(workspace, "a"))
    rename(workspace, "a", "c")
    vectors = workspace.artifact("vectors", "v")
    assert vectors.manifest.inputs["model"].paths == ("models/c",)
    delete_artifact(workspace, workspace.artifact("models", "c"))
    rename(workspace, "b", "d")
    vectors = workspace.artifact("vectors", "v")
    assert vectors.explain_staleness(workspace) == ["models c is gone"]


@pytest.mark.parametrize("content", ["[]", "{", '{"models/a": 1}', '{"x/a": "b", "models": "c"}'])
def test_a_broken_record_of_names_is_a_message_or_ignored(content, workspace):
    make_model(workspace, "a")
    (workspace.root / "renamed.json").write_text(content)
    try:
        assert find_new_name(workspace, "a") == ""
        rename(workspace, "a", "b")
    except InputError as error:
        assert "renamed.json" in error.problem


def test_an_artifact_that_another_session_has_deleted_is_a_message(workspace):
    artifact = make_model(workspace, "a")
    delete_artifact(workspace, artifact)
    for act in (
        lambda: delete_artifact(workspace, artifact),
        lambda: rename_artifact(workspace, artifact, "b"),
    ):
        with raises_input_error("gone"):
            act()


@pytest.mark.parametrize("act", ["rename", "delete"])
def test_a_job_that_starts_meanwhile_is_seen(act, workspace, monkeypatch):
    """Until the lock is held a job may still start: its use is checked after that."""
    artifact, locked = make_model(workspace, "a"), []

    def check(workspace, artifact):
        assert is_locked(workspace.root)
        locked.append(artifact.name)
        raise InputError("in use", code="in-use")

    monkeypatch.setattr(renames, "check_unused", check)
    monkeypatch.setattr(trash, "check_unused", check)
    with raises_input_error("in-use"):
        if act == "rename":
            rename_artifact(workspace, artifact, "b")
        else:
            delete_artifact(workspace, artifact)
    assert locked == ["a"] and artifact.folder.is_dir()


def test_a_note_goes_to_the_trash_and_comes_back_with_its_artifact(workspace):
    save_note(workspace, "models/a", "the first one", ["mine"])
    deleted = delete_artifact(workspace, make_model(workspace, "a"))
    assert load_notes(workspace) == {}
    make_model(workspace, "a")
    restore(workspace, deleted, "b")
    note = load_notes(workspace)["models/b"]
    assert (note.text, note.tags) == ("the first one", ("mine",)) and list_trash(workspace) == []
    assert list(load_notes(workspace)) == ["models/b"]


def test_a_bad_name_changes_nothing(workspace):
    make_model(workspace, "a")
    for name in ("", "../x", "a/b", ".hidden", "con", "x" * 81):
        with raises_input_error("invalid-name"):
            rename(workspace, "a", name)
    assert list_names(workspace) == {"models/a"}


def test_a_taken_name_changes_nothing(workspace):
    for name in "ab":
        make_model(workspace, name)
    with raises_input_error("name-taken", "b"):
        rename(workspace, "a", "b")
    assert list_names(workspace) == {"models/a", "models/b"}


def test_a_deleted_artifact_comes_back_as_it_was(seeded_copy):
    before, stale = list_names(seeded_copy), list_stale(seeded_copy)
    artifact = seeded_copy.artifact("vectors", "trials-vectors")
    deleted = delete_artifact(seeded_copy, artifact)
    assert list_names(seeded_copy) == before - {"vectors/trials-vectors"}
    assert [(one.kind, one.name) for one in list_trash(seeded_copy)] == [
        ("vectors", "trials-vectors")
    ]
    assert deleted.bytes > 0
    restore(seeded_copy, deleted)
    assert list_names(seeded_copy) == before and list_stale(seeded_copy) == stale
    assert list_trash(seeded_copy) == []


def test_a_name_that_was_taken_meanwhile_is_a_message_and_another_one_works(seeded_copy):
    deleted = delete_artifact(seeded_copy, seeded_copy.artifact("models", "trials-model"))
    (seeded_copy.root / "models" / "trials-model").mkdir(parents=True)
    with raises_input_error("name-taken"):
        restore(seeded_copy, deleted)
    assert restore(seeded_copy, deleted, "again").name == "again"


def test_an_emptied_trash_is_empty(seeded_copy):
    deleted = delete_artifact(seeded_copy, seeded_copy.artifact("models", "trials-model"))
    (seeded_copy.root / TRASH / "notes of mine").mkdir()  # not ours: left alone
    assert empty_trash(seeded_copy) == deleted.bytes
    assert list_trash(seeded_copy) == []
    assert [path.name for path in (seeded_copy.root / TRASH).iterdir()] == ["notes of mine"]
    with raises_input_error("not-in-trash"):
        find_deleted(seeded_copy, deleted.id)


def test_a_copy_and_an_export_hold_the_same_artifacts(seeded_copy, tmp_path):
    delete_artifact(seeded_copy, seeded_copy.artifact("models", "trials-model"))
    before, stale = list_names(seeded_copy), list_stale(seeded_copy)
    copied = copy_workspace(seeded_copy, tmp_path / "copy")
    export_workspace(seeded_copy, tmp_path / "w.zip")
    opened = open_export(tmp_path / "w.zip", tmp_path / "elsewhere")
    for one in (copied, opened):
        assert list_names(one) == before and list_stale(one) == stale
        assert not (one.root / "jobs").exists() and list_trash(one) == []
    text = opened.artifacts("corpora")[0]
    assert list(read_corpus([text.folder]).passages())


def test_a_folder_in_use_is_not_overwritten(seeded_copy, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    export_workspace(seeded_copy, tmp_path / "w.zip")
    for act in (
        lambda: copy_workspace(seeded_copy, tmp_path / "mine"),
        lambda: open_export(tmp_path / "w.zip", tmp_path / "mine"),
    ):
        with raises_input_error("already-exists"):
            act()
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_a_copy_on_a_full_disk_leaves_nothing(seeded_copy, tmp_path, monkeypatch):
    def fill(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", fill)
    with raises_input_error("disk-full"):
        copy_workspace(seeded_copy, tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trials"]


LINK = zipfile.ZipInfo("models/good/link")
LINK.external_attr = 0o120777 << 16
BAD_MEMBERS = ["../out.txt", "/etc/out", "models/../../out", "jobs/x/run.sh", "models/.hidden"]
BAD_MEMBERS += [".", "a\\b", "x/y"]


def test_a_file_from_elsewhere_cannot_lead_out_of_the_folder(tmp_path):
    for member in (*BAD_MEMBERS, LINK):
        with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
            archive.writestr("models/good/manifest.json", "{}")
            archive.writestr(member, "/etc/passwd")
        with raises_input_error("foreign-member"):
            open_export(tmp_path / "bad.zip", tmp_path / "w")
    for content in (b"", b"no zip file", b"PK\x03\x04 cut"):
        (tmp_path / "bad.zip").write_bytes(content)
        with raises_input_error("invalid-zip"):
            open_export(tmp_path / "bad.zip", tmp_path / "w")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.zip"]


def test_the_same_by_command(seeded_copy, tmp_path, capsys):
    def run(*arguments):
        code = main(["workspace", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    place = ["--workspace", str(seeded_copy.root)]
    assert run("rename", "models/trials-model", "mine", *place)[0] == 0
    assert run("note", "models/mine", "the first one", *place)[0] == 0
    code, out, _ = run("list", *place)
    assert code == 0 and "models/mine" in out and "the first one" in out
    # What depends on an artifact is named before it is deleted.
    code, _, err = run("delete", "vectors/trials-vectors", *place)
    assert code == 2 and "models/mine" in err and "--yes" in err
    assert (seeded_copy.root / "vectors" / "trials-vectors").is_dir()
    code, out, _ = run("delete", "vectors/trials-vectors", "--yes", "--json", *place)
    assert code == 0
    entry = json.loads(out)["id"]
    assert run("restore", entry, *place)[0] == 0
    assert (seeded_copy.root / "vectors" / "trials-vectors").is_dir()
    assert run("export", "--out", str(tmp_path / "w.zip"), *place)[0] == 0
    assert run("open", str(tmp_path / "w.zip"), "--out", str(tmp_path / "opened"))[0] == 0
    assert "models/mine" in list_names(Workspace(tmp_path / "opened"))
    code, _, err = run("rename", "mine", "x", *place)
    assert code == 2 and "models/mine" in err
    assert run("rename", "neither", "x", *place)[0] == 2
    assert run("rename", "model/mine", "ours", *place)[0] == 0  # the kind in the singular
    # A second export replaces the file only on request.
    again = ("export", "--out", str(tmp_path / "w.zip"), *place)
    assert run(*again)[0] == 2 and run(*again, "--overwrite")[0] == 0
    assert run("delete", "models/ours", "--yes", *place)[0] == 0
    assert json.loads(run("empty-trash", "--json", *place)[1])["items"] == 1
    assert json.loads(run("empty-trash", "--json", *place)[1])["items"] == 0


@pytest.fixture
def job(tmp_path):
    """A finished job, which imported a text as `a`."""
    spec = Spec(CorpusStep(), {"text": str(write_text(tmp_path / "text.txt", lines=1))})
    return write_job(Workspace(tmp_path / "w"), spec, "a", "done")


def test_a_job_is_renamed_annotated_and_keeps_its_name_in_the_trash(job):
    workspace, id = job.workspace, find_id(job)
    assert renames.rename(workspace, job, "  second \n try ") == "second try"
    save_note(workspace, id, "with dates")
    # The name and the note do not overwrite each other.
    assert find_name(workspace, id) == "second try"
    assert renames.rename(workspace, job, "third") == "third"
    assert load_notes(workspace)[id].text == "with dates"
    assert queue.find_job(workspace, job.id).finished and job.target.name == "a"
    deleted = delete_job(workspace, job)
    assert find_name(workspace, id) == ""
    restore(workspace, deleted)
    note = load_notes(workspace)[id]
    assert (note.name, note.text) == ("third", "with dates")
    save_note(workspace, id, "")
    assert find_name(workspace, id) == "third"
    assert renames.rename(workspace, job, "") == "" and load_notes(workspace) == {}


@pytest.mark.parametrize("name", ["", "b"])
def test_a_job_leads_to_its_result_again_when_that_is_restored(name, job):
    workspace = job.workspace
    deleted = delete_artifact(workspace, workspace.artifact("corpora", "a"))
    assert not job.finished
    restore(workspace, deleted, name)
    again = queue.find_job(workspace, job.id)
    assert again.finished and again.target.name == (name or "a")


def test_a_job_of_a_later_artifact_of_a_name_is_not_taken_for_that_of_a_restored_one(job):
    workspace = job.workspace
    deleted = delete_artifact(workspace, workspace.artifact("corpora", "a"))
    second = write_job(workspace, job.spec, "a", "done", number=1)
    restore(workspace, deleted, "b")
    first, second = (queue.find_job(workspace, one.id) for one in (job, second))
    assert (first.target.name, second.target.name) == ("b", "a")
    assert first.finished and second.finished


def test_a_bad_name_of_a_job_changes_nothing(job):
    for name in ("x" * 300, "a\x1b[31mred", "right\u202eleft", "nul\0"):
        with raises_input_error("long-name" if len(name) > 80 else "invalid-name"):
            renames.rename(job.workspace, job, name)
    assert load_notes(job.workspace) == {}


def test_a_deleted_job_is_not_renamed(job):
    delete_job(job.workspace, job)
    with raises_input_error("gone"):
        renames.rename(job.workspace, job, "b")
    assert load_notes(job.workspace) == {}


def test_a_job_is_renamed_by_the_command_of_artifacts(job, capsys):
    place = ["--workspace", str(job.workspace.root)]

    def run(*arguments):
        code = main([*arguments, *place])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    assert run("workspace", "rename", find_id(job), "<b>mine</b>")[0] == 0
    assert "<b>mine</b>" in run("jobs", "list")[1]
    code, out, _ = run("jobs", "show", job.id, "--json")
    assert code == 0 and json.loads(out)["name"] == "<b>mine</b>"
    assert run("workspace", "rename", find_id(job), "")[0] == 0
    assert json.loads(run("jobs", "show", job.id, "--json")[1])["name"] == ""
    for item, name in (("jobs/unknown", "mine"), (find_id(job), "x" * 300)):
        assert run("workspace", "rename", item, name)[0] == 2
    (job.workspace.root / "notes.jsonl").write_text("{")
    assert run("jobs", "list")[0] == 0, "jobs are listed although the notes cannot be read"


def test_an_empty_workspace_is_not_copied(tmp_path):
    place = ["--workspace", str(tmp_path / "nowhere")]
    for command in ("copy", "export"):
        assert main(["workspace", command, "--out", str(tmp_path / "copy"), *place]) == 2
    assert main(["workspace", "delete", "models/a", *place]) == 2
    assert list(tmp_path.iterdir()) == []
