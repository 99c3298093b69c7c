"""Records of a workspace that name other files: what leads out of it is refused or hidden."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.lab.demo import DEMO
from vocadapt.lab.experiments.published.imports import import_values
from vocadapt.lab.housekeeping.copies import copy_workspace, export_workspace, open_export
from vocadapt.lab.workspace import limits
from vocadapt.lab.workspace.lesson_progress import LessonProgress, save_progress
from vocadapt.lab.workspace.manifest import ARTIFACTS, FORMAT, Manifest, record_input
from vocadapt.lab.workspace.notes import save_note
from vocadapt.lab.workspace.records import list_outside_paths, read_named_paths
from vocadapt.lab.workspace.slices import save_slice
from vocadapt.lab.workspace.trials import record_trial
from vocadapt.lab.workspace.workspace import Workspace

SECRET = "/etc/passwd"


def format_manifest(kind: str, *paths: str) -> str:
    roles = {"vectors", "model", "before", "after", "given"}
    inputs = {role: {"paths": list(paths) or ["models/m"], "stamp": "1"} for role in roles}
    values = {"kind": kind, "name": "a", "settings": {}, "inputs": inputs, "format": FORMAT}
    return json.dumps(values)


def format_task(path: str) -> str:
    return f'kind = "ner"\nfolds = 2\n[splits]\ntrain = "train.tsv"\ntest = {json.dumps(path)}\n'


STUDY = 'name = "s"\n[[variants]]\nname = "v"\nmodel = "m"\n'
# Name of a record → its content, with the path that it names.
RECORDS = {
    "corpora/a/corpus.json": lambda path: json.dumps({"files": ["text/a.txt", path]}),
    "tasks/a/task.toml": format_task,
    "tasks/a/fold.toml": lambda path: format_task(f"{{fold}}/../{path}"),
    "studies/a/study.toml": lambda path: (
        f'{STUDY}[[tasks]]\nname = "t"\ntrain = {json.dumps(path)}'
    ),
    "studies/a/named.toml": lambda path: f"{STUDY}[[tasks]]\nname = {json.dumps(path)}",
    "studies/a/above.toml": lambda path: f"extends = {json.dumps(path)}\n{STUDY}",
    "studies/a/texts.toml": lambda path: (
        f'{STUDY}[[corpora]]\nname = "c"\nfiles = [{json.dumps(path)}]'
    ),
    **{
        f"{kind}/a/manifest.json": lambda path, kind=kind: format_manifest(kind, path)
        for kind in ARTIFACTS
    },
}
COUNTS = "corpora/a/corpus.json", lambda path: json.dumps({"counts": path})
CASES = [*RECORDS.items(), COUNTS]
DEPTHS = ["", "studies/s/", "searches/s/runs/r/seed-1/", "runs/a/b/c/d/"]


def pack(path: Path, name: str, content: str) -> Path:
    """An exported workspace with one record, in an artifact that is sound otherwise."""
    kind = name.split("/")[-3]
    manifest = f"{name.removesuffix(name.split('/')[-1])}manifest.json"
    with zipfile.ZipFile(path, "w") as archive:
        if manifest != name:
            archive.writestr(manifest, format_manifest(kind))
        archive.writestr(name, content)
    return path


@pytest.mark.parametrize("name, write", CASES)
def test_a_relative_path_that_leads_out_is_refused_at_every_depth(name, write, tmp_path):
    for depth in DEPTHS:
        out = "../" * (len(f"{depth}{name}".split("/")) + 1)
        pack(tmp_path / "w.zip", depth + name, write(f"{out}secret.txt"))
        # The message names the record as in the export, not in the draft.
        record = "/".join(name.split("/")[-2:])
        with raises_input_error("leads-out", record) as caught:
            open_export(tmp_path / "w.zip", tmp_path / "w")
        assert caught.value.problem.startswith(record)
        pack(tmp_path / "w.zip", depth + name, write("b/c.txt"))
        open_export(tmp_path / "w.zip", tmp_path / "inside")
        shutil.rmtree(tmp_path / "inside")
    assert [path.name for path in tmp_path.iterdir()] == ["w.zip"]


@pytest.mark.parametrize("name, write", [one for one in CASES if "fold" not in one[0]])
def test_an_absolute_path_is_refused_on_pages_and_listed_by_the_command(
    name, write, tmp_path, capsys
):
    def refuse(path):
        raise InputError(f"{path}: not allowed.", code="not-allowed")

    for depth in DEPTHS:
        for number, place in enumerate((SECRET, "~/secret.txt")):
            pack(tmp_path / "w.zip", depth + name, write(place))
            with raises_input_error("not-allowed"):
                open_export(tmp_path / "w.zip", tmp_path / "w", refuse)
            assert [path.name for path in tmp_path.iterdir()] == ["w.zip"]
            out = tmp_path / f"w{number}"
            command = ["workspace", "open", str(tmp_path / "w.zip"), "--out", str(out)]
            assert main([*command, "--json"]) == 0
            answer = json.loads(capsys.readouterr().out)
            assert answer["outside"] == [str(Path(place).expanduser())]
            shutil.rmtree(out)


@pytest.fixture
def visitor(tmp_path, monkeypatch):
    """The workspace of a visitor of a served lab."""
    monkeypatch.setenv(limits.VISITORS, str(tmp_path))
    return Workspace(tmp_path / f"visitor-{'0' * 32}" / "workspace")


def plant(workspace, name, content):
    place = workspace.root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.name != "manifest.json":
        manifest = format_manifest(place.parent.parent.name)
        (place.parent / "manifest.json").write_text(manifest, encoding="utf-8")
    place.write_text(content, encoding="utf-8")


@pytest.mark.parametrize("name, write", [one for one in CASES if "fold" not in one[0]])
def test_what_is_there_already_hides_itself_and_nothing_else(name, write, visitor, tmp_path):
    other = tmp_path / f"visitor-{'1' * 32}" / "workspace" / "secret.txt"
    kind = name.split("/")[0]
    plant(visitor, f"{kind}/sound/manifest.json", format_manifest(kind))
    for number, path in enumerate((SECRET, str(other), f"../../../../{other.parents[1].name}/x")):
        plant(visitor, name.replace("/a/", f"/a{number}/"), write(path))
    plant(visitor, name.replace("/a/", "/own/"), write(str(visitor.root / "corpora" / "b.txt")))
    assert {one.name for one in visitor.artifacts(kind)} == {"sound", "own"}
    hidden = visitor.list_hidden(kind)
    assert set(hidden) == {f"{kind}/a{number}" for number in range(3)}
    with pytest.raises(InputError):
        visitor.artifact(kind, "a0")


@pytest.mark.parametrize("path", ["a" * 5000, "a/" * 2400, "b" * 300, "\0", "~nobody-known/a"])
def test_a_path_that_cannot_be_one_hides_its_artifact(path, workspace, capsys):
    for name, write in CASES:
        kind = name.split("/")[0]
        if "fold" in name:  # the path is not at its beginning
            continue
        plant(workspace, f"{kind}/sound/manifest.json", format_manifest(kind))
        if "\0" not in path or name.endswith(".json"):  # no TOML has a NUL
            plant(workspace, name, write(path))
            assert [one.name for one in workspace.artifacts(kind)] == ["sound"]
            assert f"{kind}/a" in workspace.list_hidden()
            shutil.rmtree((workspace.root / name).parent)
    plant(workspace, "models/a/manifest.json", format_manifest("models", path))
    assert main(["workspace", "list", "--workspace", str(workspace.root)]) == 0
    assert "models/a" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["alignments", "changes"])
def test_an_artifact_without_a_needed_input_hides_itself(kind, workspace):
    manifest = json.loads(format_manifest(kind))
    for role in ("vectors", "before"):
        del manifest["inputs"][role]
    plant(workspace, f"{kind}/a/manifest.json", json.dumps(manifest))
    plant(workspace, f"{kind}/b/manifest.json", format_manifest(kind))
    assert [one.name for one in workspace.artifacts(kind)] == ["b"]
    assert set(workspace.list_hidden()) == {f"{kind}/a"}


def test_an_entry_that_is_not_recorded_is_a_sentence():
    manifest = Manifest("models", "a", {})
    for entries in (manifest.inputs, manifest.settings, manifest.numbers):
        with raises_input_error("missing-entry", "'text'"):
            entries["text"]
        with pytest.raises(KeyError):
            entries["text"]
        assert entries.get("text") is None


def test_a_missing_file_hides_its_artifact_but_a_run_may_lack_its_weights(workspace):
    for kind in ("models", "runs"):
        for name in ("a", "b"):
            folder = workspace.folder(kind, name)
            folder.mkdir(parents=True)
            (folder / "model.safetensors").write_text("")
            Manifest(kind, name, {}).save(folder)
        (workspace.root / kind / "a" / "model.safetensors").unlink()
    assert [one.name for one in workspace.artifacts("models")] == ["b"]
    assert "model.safetensors" in workspace.list_hidden()["models/a"]
    assert len(workspace.artifacts("runs")) == 2
    manifest = json.loads(format_manifest("models"))
    for path in ("/etc/passwd", "../../../w", "../b"):  # whether it exists is not told
        plant(workspace, "models/a/manifest.json", json.dumps({**manifest, "files": [path]}))
        assert path in workspace.list_hidden()["models/a"]


def test_a_study_names_what_its_workspace_holds_relative_to_itself(tmp_path):
    (tmp_path / "w" / "models" / "m").mkdir(parents=True)
    (tmp_path / "w" / "models" / "m" / "config.json").write_text("{}")
    study = tmp_path / "w" / "studies" / "s"
    study.mkdir(parents=True)
    Manifest("studies", "s", {}).save(study)
    (tmp_path / "outside.txt").write_text("a")
    given = record_input([tmp_path / "w" / "models" / "m", tmp_path / "outside.txt"], study)
    assert given.paths == ("../../models/m", str(tmp_path / "outside.txt"))
    assert given.name == "models m and 1 more"


def fill(workspace: Workspace) -> None:
    """Write every kind of file that vocadapt keeps in a workspace, by its own functions where these
    are fast, and folders and files of the user's own.
    """
    root = workspace.root
    for kind in ("corpora", "runs", "studies", "tasks", "alignments", "counts"):
        shutil.copytree(DEMO / kind, root / kind)
    for kind in ARTIFACTS:
        plant(workspace, f"{kind}/plain/manifest.json", format_manifest(kind))
    plant(workspace, "searches/s/manifest.json", format_manifest("searches"))
    plant(workspace, "searches/s/runs/r/manifest.json", format_manifest("runs", "../../models/m"))
    (root / "searches/s/space.toml").write_text("seeds = [1]\nbatch_size = [8, 16]\n")
    (root / "searches/s/optuna.log").write_text("{}\n")
    (root / "searches/s/jobs/cell").mkdir(parents=True)
    (root / "searches/s/jobs/cell/spec.json").write_text("{}")
    values = root.parent / "values.csv"
    values.write_text("row,column,value\nNCBI-disease,aligned,87.5\n")
    import_values("poerner-ablation", values, workspace, "me")
    save_note(workspace, "runs/plain", "a note")
    save_slice(workspace, "Heart diseases", ["heart"])
    save_progress(workspace, "lesson", LessonProgress(guess=1))
    record_trial(workspace)
    (root / "footprint.toml").write_text("")
    (root / "renamed.json").write_text("{}")
    for name in ("jobs/j/spec.json", "uploads/a.txt", "trash/1/models/a/x", "data/mine.txt"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("a")
    (root / ".hidden").write_text("a")


def read_files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def test_an_export_of_every_kind_of_file_can_be_opened(workspace, capsys, tmp_path):
    fill(workspace)
    place = ["--workspace", str(workspace.root), "--json"]
    assert main(["workspace", "export", "--out", str(tmp_path / "w.zip"), *place]) == 0
    assert json.loads(capsys.readouterr().out)["left_out"] == ["data"]
    opened = open_export(tmp_path / "w.zip", tmp_path / "opened")
    copied = copy_workspace(workspace, tmp_path / "copied")
    left_out = ("jobs/", "uploads/", "trash/", "data/", ".hidden", ".lock")
    kept = {
        name: content
        for name, content in read_files(workspace.root).items()
        if not name.startswith(left_out)
    }
    assert len(kept) > 60 and {"tried.json", "searches/s/jobs/cell/spec.json"} < set(kept)
    assert read_files(opened.root) == kept == read_files(copied.root)
    for kind in ARTIFACTS:
        assert opened.artifacts(kind) and not opened.list_hidden(kind)
    assert list_outside_paths(opened.root, [Path(name) for name in kept]) == []
    export_workspace(opened, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "w.zip").read_bytes()


def test_what_could_not_be_opened_is_not_exported(workspace, tmp_path):
    plant(workspace, "studies/a/study.toml", RECORDS["studies/a/study.toml"]("../../../x.tsv"))
    assert workspace.artifacts("studies"), "its user may have written it"
    for write in (export_workspace, copy_workspace):
        with raises_input_error("leads-out", "study.toml"):
            write(workspace, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w"]


def test_a_damaged_record_names_nothing_and_is_carried_along(workspace, tmp_path):
    plant(workspace, "models/sound/manifest.json", format_manifest("models"))
    plant(workspace, "models/bad/manifest.json", "{")
    plant(workspace, "tasks/bad/task.toml", "[")
    plant(workspace, "corpora/bad/corpus.json", '{"files": "/etc/passwd"}')
    export_workspace(workspace, tmp_path / "w.zip")
    opened = open_export(tmp_path / "w.zip", tmp_path / "opened")
    assert set(opened.list_hidden()) == {"models/bad", "tasks/bad", "corpora/bad"}
    with raises_input_error("no-text"):
        read_named_paths(opened.root / "corpora/bad/corpus.json")
