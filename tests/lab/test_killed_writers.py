"""Every writer of a workspace, killed before each of its changes on the disk and in the middle of each
file: afterwards the workspace opens, shows nothing incomplete, has lost nothing, and is clean."""

import ast
import io
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import vocadapt
from tests.material.kill_points import run_and_kill
from tests.material.lab import LONG, write_text
from tests.material.sources import list_modules, list_nodes, parse, read_source
from vocadapt.lab.demo import DEMO
from vocadapt.lab.experiments.published.imports import import_values, read_imported
from vocadapt.lab.experiments.search.saved import save_search
from vocadapt.lab.experiments.search.step import SearchStep
from vocadapt.lab.experiments.studies.saved import register_study, save_study
from vocadapt.lab.housekeeping.copies import copy_workspace, export_workspace, open_export
from vocadapt.lab.housekeeping.renames import load_former_names, rename, rename_artifact
from vocadapt.lab.housekeeping.trash import (
    NOTE,
    delete_artifact,
    delete_job,
    empty_trash,
    finish_moves,
    list_trash,
    restore,
)
from vocadapt.lab.inputs.corpora import load_or_count_words
from vocadapt.lab.inputs.tasks import import_prediction_files, import_task
from vocadapt.lab.jobs import living, queue
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.status import Metrics, Status, write_status
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.drafts import open_draft, open_growing
from vocadapt.lab.workspace.lesson_progress import (
    LessonProgress,
    load_progress,
    reset_progress,
    save_progress,
)
from vocadapt.lab.workspace.manifest import ARTIFACTS, Manifest, record_input
from vocadapt.lab.workspace.notes import load_notes, save_name, save_note
from vocadapt.lab.workspace.slices import delete_slice, list_slices, save_slice
from vocadapt.lab.workspace.trials import record_trial, was_tried
from vocadapt.lab.workspace.workspace import TRASH, UPLOADS, Workspace, list_kinds
from vocadapt.text.corpus import open_corpus
from vocadapt.text.splitter import Splitter
from vocadapt.training.tasks.kinds import find_kind
from vocadapt.ui.components.intake import save_uploads

PACKAGE = Path(vocadapt.__file__).parent
DATA = "data.txt"
WHOLE = "all of it\n" * 20
TABLE = "poerner-cost"  # has empty cells
JOB = "20260101-000000-000000-corpus"


def put(workspace: Workspace, kind: str, name: str, made_from: str = "", overwrite=False) -> None:
    """Write an artifact with one file of known content."""
    inputs = {}
    if made_from:
        inputs["source"] = record_input([workspace.root / made_from], workspace.root)
    with open_draft(workspace.folder(kind, name), overwrite) as draft:
        (draft / DATA).write_text(WHOLE)
        Manifest(kind, name, {}, inputs).save(draft)


def prepare(root: Path) -> None:
    """A workspace with a chain of artifacts, notes, a job, a slice, lessons, trash and a study."""
    workspace = Workspace(root)
    text = write_text(root.parent / "text.txt", lines=5)
    put(workspace, "vectors", "words")
    put(workspace, "models", "first", "vectors/words")
    put(workspace, "models", "second", "models/first")
    put(workspace, "runs", "third", "models/second")
    put(workspace, "tasks", "gone")
    for item in ("vectors/words", "tasks/gone"):
        save_note(workspace, item, f"about {item}", ["tag"])
    delete_artifact(workspace, workspace.artifact("tasks", "gone"))
    save_slice(workspace, "kept", ["a", "b"])
    save_progress(workspace, "lesson", LessonProgress(seen=2))
    job = workspace.root / "jobs" / JOB
    job.mkdir(parents=True)
    spec = Spec(CorpusStep(), {"text": str(text)})
    order = {"spec": spec.to_dict(), "target": "corpora/none", "overwrite": False}
    strict_json.write(job / "spec.json", order)
    write_status(job, Status(state="failed", error="none", queued=1, updated=1))
    (root.parent / "study.toml").write_text(STUDY)
    save_study(STUDY.replace("registered", "saved"), workspace)


STUDY = f"""
name = "registered"
seeds = [1]
[[variants]]
name = "plain"
model = "{DEMO}/models/demo-bert"
[[tasks]]
name = "ill"
kind = "ner"
train = "{DEMO}/tasks/demo-diseases/train.tsv"
test = "{DEMO}/tasks/demo-diseases/test.tsv"
"""


class Upload(io.BytesIO):
    """A file of a browser."""

    name = "uploaded.txt"


def run_corpus(workspace: Workspace, job: Path | None = None, overwrite: bool = False) -> None:
    text = str(workspace.root.parent / "text.txt")
    spec = Spec(CorpusStep(copy=True), {"text": text})
    run_step(spec, workspace.folder("corpora", "copied"), overwrite=overwrite, job=job)


def grow(workspace: Workspace) -> None:
    with open_growing(workspace.folder("studies", "grown")) as folder:
        Manifest("studies", "grown", {}, step="study").save(folder, lists_files=False)


def write_metrics(workspace: Workspace) -> None:
    metrics = Metrics(workspace.root / "jobs" / JOB, 0.0)
    for second in range(3):
        metrics.add({"run": 1, "seconds": second, "fraction": 0.5, "message": "words"})


def start_job(workspace: Workspace) -> None:
    """Start a job whose worker ends at once."""
    queue.WORKER = ("-c", "pass")
    spec = Spec(CorpusStep(), {"text": str(workspace.root.parent / "text.txt")})
    queue.start(workspace, spec, "started")


def resume_job(workspace: Workspace) -> None:
    queue.WORKER = ("-c", "pass")
    queue.resume(workspace, Job(workspace.root / "jobs" / JOB))


def first_trash(workspace: Workspace):
    return list_trash(workspace)[0]


def count(workspace: Workspace) -> None:
    corpus = open_corpus([workspace.root.parent / "text.txt"])
    load_or_count_words(workspace.root, corpus, Splitter.bert())


def search(workspace: Workspace) -> None:
    inputs = {
        "model": str(workspace.root / "models" / "first"),
        "task": f"{DEMO}/tasks/demo-diseases",
    }
    save_search(Spec(SearchStep(), inputs), "searched", workspace)


def predictions(workspace: Workspace) -> None:
    gold = DEMO / "tasks" / "demo-diseases" / "test.tsv"
    files = [(gold, workspace.folder("predictions", name)) for name in ("one", "two")]
    import_prediction_files(find_kind("ner"), gold, files)


WRITERS: dict[str, Callable[[Workspace], object]] = {
    "a new artifact": lambda w: put(w, "models", "new", "vectors/words"),
    "an artifact that is replaced": lambda w: put(w, "vectors", "words", overwrite=True),
    "a step": run_corpus,
    "a step of a job": lambda w: run_corpus(w, w.root / "jobs" / JOB),
    "a growing folder": grow,
    "a note": lambda w: save_note(w, "models/first", "new", ["other"]),
    "a display name": lambda w: save_name(w, f"jobs/{JOB}", "a name"),
    "lessons": lambda w: save_progress(w, "lesson", LessonProgress(seen=5)),
    "lessons reset": reset_progress,
    "a trial": record_trial,
    "a slice": lambda w: save_slice(w, "another", ["c"]),
    "a slice deleted": lambda w: delete_slice(w, "kept"),
    "an upload": lambda w: save_uploads([Upload(WHOLE.encode())], w),
    "a status": lambda w: write_status(w.root / "jobs" / JOB, Status("failed", error="other")),
    "metrics": write_metrics,
    "a job": start_job,
    "a job resumed": resume_job,
    "a cell": lambda w: queue.prepare_cell(w, Spec(CorpusStep(), {"text": "x"}), "cell", 1),
    "a renaming": lambda w: rename_artifact(w, w.artifact("vectors", "words"), "renamed"),
    "a job renamed": lambda w: rename(w, Job(w.root / "jobs" / JOB), "other"),
    "a deletion": lambda w: delete_artifact(w, w.artifact("vectors", "words")),
    "a job deleted": lambda w: delete_job(w, Job(w.root / "jobs" / JOB)),
    "a restoration": lambda w: restore(w, first_trash(w)),
    "a restoration by another name": lambda w: restore(w, first_trash(w), "back"),
    "the trash emptied": empty_trash,
    "a copy": lambda w: copy_workspace(w, w.root.parent / "copy"),
    "an export": lambda w: export_workspace(w, w.root.parent / "export.zip"),
    "an export opened": lambda w: open_export(w.root.parent / "given.zip", w.root.parent / "open"),
    "word counts": count,
    "a study": lambda w: save_study(STUDY.replace("registered", "new"), w),
    "a study edited": lambda w: save_study(
        STUDY.replace("registered", "saved").replace("[1]", "[1, 2]"), w, replaced="saved"
    ),
    "a study registered": lambda w: register_study(w.root.parent / "study.toml", w),
    "a search": search,
    "a task": lambda w: import_task(
        find_kind("classification"), {"train": w.root.parent / "gold.tsv"}, w.folder("tasks", "t")
    ),
    "predictions": predictions,
    "published values": lambda w: import_values(TABLE, w.root.parent / "values.csv", w, "me"),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """A folder with a workspace and what lies beside it."""
    folder = tmp_path_factory.mktemp("template")
    (folder / "values.csv").write_text("row,column,value\nGreenBioBERT,CO2,28\n")
    (folder / "gold.tsv").write_text("ill\tthe drug\nwell\tthe cell\n")
    prepare(folder / "w")
    export_workspace(Workspace(folder / "w"), folder / "given.zip")
    return folder


# The others take a minute together.
QUICK = ("a new artifact", "a note", "an upload", "a deletion")
CASES = [pytest.param(one, marks=[] if one in QUICK else pytest.mark.slow) for one in WRITERS]


@pytest.mark.parametrize("name", CASES)
def test_a_writer_is_killed_before_each_change_and_in_each_file(name, template, tmp_path):
    finished = 0
    for tears in (False, True):
        moment, killed = 0, True
        while killed:
            folder = tmp_path / f"{moment}-{tears}"
            shutil.copytree(template, folder, symlinks=True)
            workspace = Workspace(folder / "w")
            before = list_created(workspace)
            killed = run_and_kill(partial(WRITERS[name], workspace), folder, moment, tears)
            # What a server does when it starts.
            queue.remove_remains(workspace)
            finish_moves(workspace)
            try:
                check_sound(workspace, before, name)
            except BaseException as error:
                error.add_note(f"{name}: killed {'in' if tears else 'before'} change {moment}")
                raise
            shutil.rmtree(folder)
            moment += 1
        finished += moment
    assert finished > 2


# Calls that put something into a workspace, or take it away.
PUTS = {
    "open_draft",
    "open_growing",
    "open_file_draft",
    "open_folder_draft",
    "write_status",
    "strict_json.write",
    "strict_json.replace_text",
    "replace_text",
    "os.rename",
    "os.replace",
}
EXCUSED = {
    # A step writes into the draft that `run_step` puts in place.
    "lab/inputs/corpora.py: write_corpus",
    "lab/inputs/corpora.py: write_counts",
    "lab/reports/zero_shot.py: run_zero_shot",
    "lab/workspace/saved_results.py: save_result",
    # These write the file or folder that the user names, as a writer of an export does.
    "lab/results/projection_files.py: export_projection",
    "lab/experiments/studies/report.py: write_report",
    # Killed in the tests of these modules.
    "lab/demo.py: open_demo",
    "lab/demo.py: _update_inputs",
    "lab/demo.py: _copy_word_counts",
    "lab/jobs/watchdog.py: _write_failure",
    "lab/jobs/worker.py: change",
    "lab/experiments/studies/cell_worker.py: _record_loss",
    "lab/experiments/studies/ray_pool.py: _record_failure",
    "lab/experiments/studies/runner.py: _handle_end",
    "lab/workspace/visitors.py: remove_unused_folders",
    "lab/reports/growth_curves.py: load_or_measure_growth_curves",
    # Called after every kill.
    "lab/workspace/drafts.py: remove_abandoned_drafts",
    "lab/workspace/drafts.py: _discard",
    # Others.
    "lab/inputs/tasks.py: fetch_benchmark",  # needs a network; open_draft as import_task
    "lab/jobs/status.py: __init__",  # after a torn line
    "lab/jobs/status.py: add",  # after 2,000 lines
    "lab/experiments/published/trainings.py: write_file",  # the study that `reproduce` runs
}


def find_puts() -> set[str]:
    """Return the functions of the lab and the pages that call one of PUTS, as `file: name`.

    Commands that write by themselves write the file that their options name.
    """
    return {
        f"{path.relative_to(PACKAGE).as_posix()}: {node.name}"
        for part in ("lab", "ui")
        for path in list_modules(f"vocadapt/{part}")
        for node in list_nodes(parse(read_source(path)))
        if isinstance(node, ast.FunctionDef)
        and PUTS & {ast.unparse(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
    }


@pytest.mark.slow
def test_every_function_that_writes_is_called_by_a_writer_of_the_list(
    template, tmp_path, monkeypatch
):
    monkeypatch.setattr(queue, "WORKER", queue.WORKER)
    called: set[str] = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            file = Path(frame.f_code.co_filename).relative_to(PACKAGE).as_posix()
            called.add(f"{file}: {frame.f_code.co_name}")

    for number, write in enumerate(WRITERS.values()):
        shutil.copytree(template, tmp_path / str(number), symlinks=True)
        sys.setprofile(note)
        try:
            write(Workspace(tmp_path / str(number) / "w"))
        finally:
            sys.setprofile(None)
    puts = find_puts()
    own = {one for one in puts if one.startswith("lab/steps/") and "lab/steps/run.py" not in one}
    assert puts - called - EXCUSED - own == set(), "add a writer that calls it to WRITERS"
    assert EXCUSED - puts == set(), "these write no more: they need no excuse"


def list_created(workspace: Workspace) -> dict[str, str]:
    """Return creation time → name of all artifacts, in the trash or not."""
    found = {}
    for manifest in [
        *workspace.root.glob("*/*/manifest.json"),
        *workspace.root.glob("trash/*/*/*/manifest.json"),
    ]:
        if not any(part.startswith(".") for part in manifest.relative_to(workspace.root).parts):
            found[Manifest.load(manifest.parent).created] = manifest.parent.name
    return found


def check_sound(workspace: Workspace, before: dict[str, str], name: str) -> None:
    root = workspace.root
    # 1. Every artifact is whole, and nothing else is listed beside it.
    for kind in ARTIFACTS:
        shown = workspace.artifacts(kind)
        # An empty folder is not listed, and may be written to.
        assert {one.name for one in shown} == {
            path.name for path in (root / kind).glob("*/") if any(path.iterdir())
        }
        for one in shown:
            for file in one.manifest.files:
                content = (one.folder / file).read_bytes()
                assert file != DATA or content.decode() == WHOLE
            if one.manifest.files:
                assert one.manifest.list_foreign_files(one.folder) == []
            assert one.explain_staleness(workspace) == [] or name in CHANGES_INPUTS
    # 2. Nothing is lost.
    if name not in REMOVES:
        assert set(before) <= set(list_created(workspace))
    # 3. Every other file of the workspace can be read.
    notes, items = (
        load_notes(workspace),
        {f"{kind}/{path.name}" for kind in list_kinds() for path in (root / kind).glob("*/")},
    )
    assert set(notes) <= items
    trash = list_trash(workspace)
    noted = len(notes) + sum((root / TRASH / one.id / NOTE).is_file() for one in trash)
    if name not in REMOVES:
        assert noted >= 2  # no note is lost
    assert len(trash) == len(list((root / TRASH).glob("*")))
    load_progress(workspace)
    load_former_names(workspace)
    was_tried(workspace)
    read_imported(TABLE, workspace)
    assert len(list_slices(workspace)) == len(list((root / "slices").glob("*")))
    jobs = [
        path for path in root.glob("jobs/*/") if path.name != living.FOLDER and any(path.iterdir())
    ]
    assert len(queue.list_jobs(workspace)) == len(jobs)
    for job in map(Job, jobs):
        assert not job.wait(LONG).alive
    for upload in (root / UPLOADS).glob("*"):
        assert upload.read_text() == WHOLE
    # 4. Nothing is left behind.
    hidden = [path for path in root.parent.rglob(".*")]
    assert hidden == [] or (name == "an export" and len(hidden) == 1)


# A replaced, deleted or edited input makes what was made from it stale: that is right.
CHANGES_INPUTS = {"an artifact that is replaced", "a deletion", "a study edited"}
REMOVES = {"the trash emptied", "an artifact that is replaced"}
