"""One temporary file registers a new entry in every registry; each entry then works in Python,
on the command line, in menus and in jobs, and no other file is edited.

A check is a function of this file that runs in another process, in which vocadapt has loaded
that file from VOCADAPT_EXTENSIONS. It raises an exception if something is missing there. One
process runs all checks, because its start (PyTorch, Streamlit) takes longer than most of them.
The names of the extension are registered only there, so no other test sees them."""

import importlib
import io
import json
import multiprocessing
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.material.apps import go_to, join_values
from tests.material.input_errors import raises_input_error
from tests.material.lab import wait_for
from vocadapt import extensions
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace, open_artifact
from vocadapt.models.language_model import open_model
from vocadapt.ui.state.address import WORKSPACE_VARIABLE

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[1]
PARTS = ROOT / "tests" / "material" / "extension"


@pytest.fixture(scope="session")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one file: all parts of the extension, joined."""
    parts = [path for path in sorted(PARTS.glob("*.py")) if path.name != "__init__.py"]
    file = tmp_path_factory.mktemp("extension") / "my_extension.py"
    file.write_text("\n\n".join(path.read_text(encoding="utf-8") for path in parts))
    return file


def run_python(*arguments: str, extensions: str = "") -> "subprocess.CompletedProcess[str]":
    """Run Python in a process of its own, with these extensions."""
    environment = {**os.environ, "VOCADAPT_EXTENSIONS": extensions, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def in_extended_process(extension: Path) -> Iterator[Callable[..., None]]:
    """Call a function of this file, with paths as arguments, in the process with the extension.

    What it raises is raised here too.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VOCADAPT_EXTENSIONS", str(extension))
        patch.setenv("PYTHONPATH", str(ROOT))
        pool = multiprocessing.get_context("spawn").Pool(1)
    with pool:
        yield lambda check, *paths: pool.apply_async(check, paths).get(timeout=300)


def run_command(*arguments: object) -> str:
    """Run a command of the command line in this process; return what it prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        try:
            code = main([*map(str, arguments)])
        except SystemExit as end:  # --help
            code = end.code
    assert code == 0, f"exit code {code}\n{printed.getvalue()}"
    return printed.getvalue()


# The loading of extensions.


FAILING = {
    "raise.py": ("x = 1\nraise ValueError('broken')\n", "raise.py, line 2 could not be loaded"),
    "syntax.py": ("def :\n", "invalid syntax"),
    "exit.py": ("import sys\nsys.exit()\n", "SystemExit"),
    "taken.py": (
        (
            "from vocadapt.vocabulary.initializers.initialize import INITIALIZERS,"
            " register_initializer\nregister_initializer('focus', INITIALIZERS['focus'])\n"
        ),
        "There is already an initializer with the name 'focus'.",
    ),
    "name.py": (
        (
            "from vocadapt.vocabulary.initializers.initialize import INITIALIZERS,"
            " register_initializer\nregister_initializer('My own', INITIALIZERS['focus'])\n"
        ),
        "'My own' is not a name for an initializer.",
    ),
    "text.txt": ("", "an extension is a file that ends in .py"),
    "missing.py": (None, "missing.py"),
    "pipe.py": (None, "a named pipe"),
}


@pytest.fixture
def load_in_this_process(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Load extensions as a program does when it starts; their error is forgotten after."""

    def load(*files: Path | str, program: str = "vocadapt") -> None:
        monkeypatch.setattr(extensions, "_errors", [])
        monkeypatch.setattr(sys, "argv", [program])
        monkeypatch.setenv("VOCADAPT_EXTENSIONS", os.pathsep.join(map(str, files)))
        extensions.load_extensions()

    return load


def test_each_extension_is_loaded_once(load_in_this_process, tmp_path):
    file, log = tmp_path / "extension.py", tmp_path / "log"
    file.write_text(f"open({str(log)!r}, 'a').write('x')\n")
    load_in_this_process(file, f"{tmp_path}/./extension.py")
    assert log.read_text() == "x"


@pytest.mark.parametrize("name", FAILING)
def test_an_extension_that_fails_is_one_sentence_on_the_command_line(
    load_in_this_process, capsys, tmp_path, name
):
    content, message = FAILING[name]
    os.mkfifo(tmp_path / "pipe.py")
    if content is not None:
        (tmp_path / name).write_text(content)
    load_in_this_process(tmp_path / name)
    assert main(["presets", "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and name in printed.err and message in printed.err
    assert "Traceback" not in printed.err and len(printed.err.splitlines()) <= 3
    assert main(["--help"]) == 0


def test_a_program_that_imports_vocadapt_gets_the_error_at_once(load_in_this_process, tmp_path):
    with raises_input_error("missing-file", "missing.py"):
        load_in_this_process(tmp_path / "missing.py", program="my_program.py")


def test_a_page_shows_why_an_extension_was_not_loaded(load_in_this_process, monkeypatch, tmp_path):
    monkeypatch.setenv(WORKSPACE_VARIABLE, "")  # restored afterwards; draw_page sets it
    load_in_this_process(tmp_path / "missing.py")
    page = draw_part("jobs", tmp_path)
    assert page.error and "missing.py" in join_values(page.text)


def test_a_job_fails_with_the_reason_why_an_extension_was_not_loaded(text, tmp_path, monkeypatch):
    monkeypatch.setenv("VOCADAPT_EXTENSIONS", str(tmp_path / "missing.py"))
    workspace = Workspace(tmp_path / "w")
    job = queue.start(workspace, Spec(CorpusStep(), {"text": (str(text),)}), "c")
    status = wait_for(job, "failed")
    assert "missing.py" in status.error and "Traceback" not in job.log()


def test_a_relative_path_holds_in_other_folders(tmp_path):
    (tmp_path / "extension.py").write_text("x = 1\n")
    code = (
        "import subprocess, sys, vocadapt;"
        " sys.exit(subprocess.call([sys.executable, '-c', 'import vocadapt'], cwd='/'))"
    )
    relative = os.path.relpath(tmp_path / "extension.py", ROOT)
    done = run_python("-c", code, extensions=relative)
    assert done.returncode == 0, done.stderr


def test_the_documented_extension_can_be_loaded(tmp_path):
    text = (ROOT / "docs" / "extensions.md").read_text(encoding="utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "constant.py").write_text(code)
    help_text = run_python(
        "-m", "vocadapt", "adapt", "-h", extensions=str(tmp_path / "constant.py")
    )
    assert help_text.returncode == 0, help_text.stderr
    assert "--constant-value" in help_text.stdout
    for call in re.findall(r"`(vocadapt[.\w]+\.register_\w+)`", text):
        module, _, name = call.rpartition(".")
        assert hasattr(importlib.import_module(module), name), call


def draw_part(part: str, workspace: Path, **query: str) -> "AppTest":
    """Draw a part of the app on a workspace in this process."""
    from streamlit.testing.v1 import AppTest

    os.environ[WORKSPACE_VARIABLE] = str(workspace)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    go_to(app.run(), part)
    assert not app.exception, [one.message for one in app.exception]
    return app


# An initializer, a removal heuristic, an alignment method, a scorer.


def check_initializer(model: Path, vectors: Path, workspace: Path) -> None:
    from vocadapt.lab.steps.command_lines import build_command

    # 1. The command adapt, its recipe, manifest and record.
    for command in ("adapt", "initializers"):
        assert "constant" in run_command(command, "--help")
        assert "--constant-value" in run_command(command, "--help")
    given, out = ("--model", model, "--vectors", vectors, "--offline"), workspace / "models" / "m"
    chosen = ("--initializer", "constant", "--constant-value", 0.25)
    run_command("adapt", *given, *chosen, "--no-certificate", "--out", out)
    assert "[initializer.options.constant]\nvalue = 0.25" in (out / "recipe.toml").read_text()
    settings = json.loads((out / "manifest.json").read_text())["settings"]
    assert settings["recipe"]["initializer"]["options"] == {"constant": {"value": 0.25}}
    assert "constant 0.25" in (out / "vocadapt.json").read_text()
    assert (open_model(out).space["aspirin"] == 0.25).all()

    # 2. The same from the recipe file, and what is refused.
    again = workspace / "models" / "again"
    same = ("--recipe", out / "recipe.toml", "--no-certificate")
    run_command("adapt", *given, *same, "--out", again)
    assert (open_model(again).space["aspirin"] == 0.25).all()
    for wrong in ([*chosen[:2], "--constant-value", 2], ["--constant-value", 0.25]):
        with pytest.raises(AssertionError, match="exit code 2"):
            run_command("adapt", *given, *wrong, "--out", workspace / "models" / "wrong")

    # 3. The comparison of initializers, and its command line from its spec.
    board = workspace / "initializers" / "board"
    compared = ("--methods", "constant", "--held-out", 5, *chosen[2:])
    answer = json.loads(run_command("initializers", *given, *compared, "--json", "--out", board))
    assert "constant" in {row["initializer"] for row in answer["board"]["rows"]}
    manifest = json.loads((board / "manifest.json").read_text())
    assert "--constant-value 0.25" in manifest["command"]
    inputs = {"model": (str(model),), "vectors": (str(vectors),)}
    spec = Spec.from_dict(
        {"step": "initializers", "settings": manifest["settings"], "inputs": inputs}
    )
    assert "--constant-value 0.25" in build_command(spec, board)


def test_an_initializer(in_extended_process, tiny_bert, vectors, tmp_path):
    in_extended_process(check_initializer, tiny_bert, vectors, tmp_path / "workspace")


def check_heuristic(model: Path, out: Path) -> None:
    from vocadapt.vocabulary.plan.augmentation import AUGMENTATIONS

    for command in (["adapt"], ["vocabulary", "reduce"], ["vocabulary", "study"]):
        assert "alphabet" in run_command(*command, "--help")
    assert "target-alphabet" in AUGMENTATIONS and "target-alphabet" in run_command("adapt", "-h")
    run_command(
        *("vocabulary", "reduce", "--model", model, "--heuristic", "alphabet", "--keep", ".96"),
        *("--out", out, "--offline", "--no-certificate"),
    )
    kept = open_model(out).vocabulary
    assert "acid" not in kept and "with" in kept


def test_a_removal_heuristic(in_extended_process, tiny_bert, tmp_path):
    in_extended_process(check_heuristic, tiny_bert, tmp_path / "reduced")


def check_alignment_method(model: Path, vectors: Path, out: Path) -> None:
    # 1. The method and its own setting, whose default maps every vector to zero.
    for command in ("align", "adapt"):
        assert "flat" in run_command(command, "--help")
        assert "--flat-factor" in run_command(command, "--help")
    given = ("align", "--model", model, "--vectors", vectors, "--offline", "--json", "--folds", 3)
    found = json.loads(run_command(*given, "--method", "flat"))
    assert found["method"] == "flat" and found["held_out"]["cosine"] == 0
    chosen = ("--method", "flat", "--flat-factor", 0.5)
    assert json.loads(run_command(*given, *chosen, "--save", out))["held_out"]["cosine"] != 0
    settings = json.loads((out / "manifest.json").read_text())["settings"]["alignment"]
    assert settings["options"] == {"flat": {"factor": 0.5}}
    with pytest.raises(AssertionError, match="exit code 2"):
        run_command(*given, "--method", "identity", *chosen[2:])

    # 2. All methods, and a recipe.
    every = json.loads(run_command(*given, "--all"))
    assert "flat" in {one["method"] for one in every["alignments"]}
    adapted = out.parent / "adapted"
    given = ("--model", model, "--vectors", vectors, "--offline", "--no-certificate")
    run_command("adapt", *given, *chosen, "--out", adapted)
    assert "[alignment.options.flat]\nfactor = 0.5" in (adapted / "recipe.toml").read_text()


def test_an_alignment_method(in_extended_process, tiny_bert, vectors, tmp_path):
    in_extended_process(check_alignment_method, tiny_bert, vectors, tmp_path / "alignment")


def check_scorer(folder: Path) -> None:
    assert "half-accuracy" in run_command("score", "--help")
    gold, predicted = folder / "gold.jsonl", folder / "predicted.jsonl"
    labels = ["yes", "no", "yes", "yes"]
    gold.write_text("".join(f'{{"text": "a", "label": "{label}"}}\n' for label in labels))
    predicted.write_text("".join(f'{{"id": {i}, "label": "yes"}}\n' for i in range(4)))
    answer = run_command(
        *("score", "--gold", gold, "--predicted", predicted, "--kind", "classification", "--json"),
        *("--scorer", "half-accuracy", "--rounds", 0),
    )
    assert json.loads(answer)["half"] == 0.375


def test_a_scorer(in_extended_process, tmp_path):
    in_extended_process(check_scorer, tmp_path)


# A step: its command, its command line, its form, its job, its manifest.


def check_step(text: Path, folder: Path) -> None:
    from vocadapt.lab.experiments import STEPS

    # 1. The command, in the overview, with its help and for real.
    assert "letters count" in run_command("--help")
    assert all(
        word in run_command("letters", "count", "--help") for word in ("--top", "(default 3)")
    )
    given = ("letters", "count", "--corpus", text, "--top", 2, "--lower", "--json")
    made = json.loads(run_command(*given, "--out", folder / "tally"))
    assert made["numbers"]["most"] == "t"
    manifest = open_artifact(folder / "tally").manifest
    assert manifest.kind == "tallies" and manifest.settings["lower"]
    assert json.loads((folder / "tally" / "letters.json").read_text()) == {"t": 3, "a": 2}

    # 2. The command line of the manifest makes the same again.
    shutil.move(folder / "tally", folder / "first")
    run_command(*shlex.split(manifest.command)[3:])
    again = open_artifact(folder / "tally").manifest
    assert (again.settings, again.numbers) == (manifest.settings, manifest.numbers)

    # 3. A spec survives JSON; it runs as a job, in another process.
    workspace = Workspace(folder / "trials")
    settings = STEPS["letters"].settings(top=1)
    spec = Spec(settings, {"text": text})
    assert Spec.from_json(spec.to_json()) == spec
    job = queue.start(workspace, spec, "mine")
    assert job.wait(120).state == "done", job.log()
    assert workspace.artifact("tallies", "mine").manifest.numbers["most"] == "a"
    assert "letters count" in job.command and "--top 1" in job.command


def test_a_step(in_extended_process, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Tat at\n")
    in_extended_process(check_step, text, tmp_path)


def check_form_of_step(text: Path, folder: Path) -> None:
    workspace = Workspace(folder / "trials")
    run_step(Spec(CorpusStep(), {"text": text}), workspace.folder("corpora", "short"))
    page = draw_part("jobs", workspace.root)
    assert "Count letters" in page.selectbox(key="jobs_step").options
    page.selectbox(key="jobs_step").set_value("Count letters").run()
    page.multiselect(key="jobs_letters_text").set_value(["short"])
    page.number_input(key="top_jobs_letters").set_value(1)
    orders = page.selectbox(key="order_jobs_letters").options
    assert orders == ["count: most frequent", "name: alphabetical"]
    assert page.selectbox(key="jobs_letters_model").value is None
    page.checkbox(key="lower_jobs_letters").set_value(True)
    page.button(key="jobs_letters_start").click().run()
    assert not page.exception, [one.message for one in page.exception]
    job = queue.list_jobs(workspace)[0]
    assert (job.spec.step, job.spec.settings.top, job.spec.settings.lower) == ("letters", 1, True)
    assert job.wait(120).state == "done", job.log()
    page = draw_part("jobs", workspace.root)
    page.selectbox(key="jobs_step").set_value("Count letters").run()
    assert page.selectbox(key="jobs_result").value == "letters"
    assert "most: **t**" in join_values(page.markdown)
    assert "Count letters" in join_values(page.header)


def test_the_form_of_a_step(in_extended_process, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Tat at\n")
    in_extended_process(check_form_of_step, text, tmp_path)


def check_page(text: Path, folder: Path) -> None:
    from streamlit.testing.v1 import AppTest
    from streamlit.util import calc_hash

    from vocadapt.lab.experiments import STEPS
    from vocadapt.ui.state.pages import PAGES, find_link, register_page

    # 1. The page shows what a step of the workspace made.
    workspace = Workspace(folder / "trials")
    spec = Spec(STEPS["letters"].settings(), {"text": text})
    run_step(spec, workspace.folder("tallies", "mine"))
    os.environ[WORKSPACE_VARIABLE] = str(workspace.root)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app._page_hash = calc_hash("letters")  # of its address; `switch_page` knows files only
    app.run()
    assert not app.exception, [one.message for one in app.exception]
    assert [one.value for one in app.title] == ["Letters"]
    assert [(one.label, one.value) for one in app.metric] == [("mine", "3")]

    # 2. Other parts can link to it, and its name is taken.
    assert find_link("letters")[0].url_path == "letters"
    page = PAGES[-1]
    with pytest.raises(InputError, match="already a page"):
        register_page(page, {})


def test_a_page(in_extended_process, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Tat at\n")
    in_extended_process(check_page, text, tmp_path)


def check_menus(workspace: Path) -> None:
    def options(app, key: str) -> list[str]:
        return next(menu.options for menu in [*app.selectbox, *app.multiselect] if menu.key == key)

    page = draw_part("vocabulary", workspace)
    assert "alphabet" in options(page, "vocabulary_heuristic")
    page = draw_part("initializers", workspace)
    assert "constant" in options(page, "initializers_methods")
    page.multiselect(key="initializers_compared").set_value(["constant"]).run()
    assert page.number_input(key="value_initializers_constant").value == 0.5
    page = draw_part("alignment", workspace)
    assert any("Flat" in name for menu in page.selectbox for name in menu.options)
    page = draw_part("errors", workspace)
    page.selectbox(key="brought_kind").set_value("nli").run()
    assert "half-accuracy" in options(page, "brought_score_nli")


def test_the_menus_of_the_pages(in_extended_process, text, tiny_bert, vectors, tmp_path):
    workspace = Workspace(tmp_path / "trials")
    run_step(
        Spec(CorpusStep(), {"text": (str(text),), "model": (str(tiny_bert),)}),
        workspace.folder("corpora", "trials"),
    )
    shutil.copytree(vectors, workspace.folder("vectors", "mine"))
    in_extended_process(check_menus, workspace.root)


# A task kind.


def write_reviews(folder: Path) -> Path:
    """Write reviews in the format of the task kind, and a task file that names them."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{stars} | It is {'very ' * stars}good." for stars in (1, 2, 4)] * 4
    for split in ("train", "test"):
        (folder / f"{split}.txt").write_text("\n".join(lines), encoding="utf-8")
    task = folder / "task.toml"
    task.write_text('kind = "stars"\n[splits]\ntrain = "train.txt"\ntest = "test.txt"\n')
    return task


def finetune_on_reviews(model: Path, workspace: Path) -> None:
    from vocadapt.training.tasks.task import read_task

    task = write_reviews(workspace.parent / "reviews")
    assert read_task(task).labels == ("1", "2", "4")
    given = ("--train", task.parent / "train.txt", "--test", task.parent / "test.txt")
    command = ("finetune", "--model", model, "--task", "stars", *given, "--offline", "--json")
    run = ("--num-epochs", 1, "--out", workspace / "runs" / "mine")
    made = json.loads(run_command(*command, *run))
    assert made["scorer"] == "accuracy" and "accuracy" in made["mean"]
    numbers = Workspace(workspace).artifact("runs", "mine").manifest.numbers
    assert numbers["scorer"] == "accuracy"


@pytest.fixture(scope="module")
def finetuned(in_extended_process, tiny_bert, tmp_path_factory) -> Path:
    """A workspace with a model that the command line fine-tuned on reviews."""
    workspace = tmp_path_factory.mktemp("reviews") / "trials"
    in_extended_process(finetune_on_reviews, tiny_bert, workspace)
    return workspace


def check_task_kind(workspace: Path, folder: Path) -> None:
    # 1. Its name, files and scores are in the help of each command.
    for command in (["finetune"], ["score"], ["compare"], ["tasks", "list"]):
        assert "stars" in run_command(*command, "--help")
    assert "the number of stars and the review on each line" in run_command("finetune", "--help")
    assert "accuracy" in run_command("score", "--help").rpartition("  stars")[2]

    # 2. A model fine-tuned on its files predicts plain text.
    run, test = workspace / "runs" / "mine", workspace.parent / "reviews" / "test.txt"
    plain, predicted = folder / "plain.txt", folder / "predicted.jsonl"
    plain.write_text("It is good.\nIt is very good.\n")
    run_command("predict", "--model", run, "--plain", plain, "--out", predicted)
    rows = [json.loads(line) for line in predicted.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["0", "1"]
    assert {row["label"] for row in rows} <= {"1", "2", "4"}

    # 3. Error analysis compares predictions for it, and names its own kinds of errors.
    for name, label in (("low", "1"), ("middle", "2")):
        rows = (f'{{"id": {place}, "label": "{label}"}}\n' for place in range(12))
        (folder / f"{name}.jsonl").write_text("".join(rows))
    sides = (folder / "low.jsonl", folder / "middle.jsonl")
    answer = run_command("compare", *sides, "--kind", "stars", "--gold", test, "--json")
    kinds = json.loads(answer)["ledger"]["kinds"]
    assert kinds == [
        {"kind": "far", "first": 4, "second": 4},
        {"kind": "nearly", "first": 4, "second": 4},
    ]


def test_a_task_kind(in_extended_process, finetuned, tmp_path):
    in_extended_process(check_task_kind, finetuned, tmp_path)


def check_pages_of_task_kind(workspace: Path) -> None:
    # 1. In the menus of own files.
    page = draw_part("finetune", workspace)
    assert "stars: the number of stars of a review" in page.selectbox(key="own_kind").options
    page = draw_part("errors", workspace)
    page.selectbox(key="brought_kind").set_value("stars").run()
    assert "Gold file: the number of stars" in join_values(page.markdown)

    # 2. The page Try it has its input, and shows its prediction; Results its confusion matrix.
    page = draw_part("try", workspace)
    assert page.text_area(key="try_sentence").label == "Review"
    page.text_area(key="try_sentence").set_value("It is very good.").run()
    assert not page.exception, [one.message for one in page.exception]
    labels = [table.value["label"].tolist() for table in page.dataframe if "label" in table.value]
    assert labels == [["1", "2", "4"]]
    page = draw_part("results", workspace)
    assert "texts. **Rows: gold" in join_values(page.markdown)


def test_the_pages_of_a_task_kind(in_extended_process, finetuned):
    in_extended_process(check_pages_of_task_kind, finetuned)


# A task kind without a head: it embeds queries and documents, with a loss of its own.


def check_kind_without_head(model: Path, folder: Path) -> None:
    from vocadapt.training.finetune.run_files import load_run

    # 1. Queries and documents, of which a test finds the right one.
    words = (
        "heart",
        "fever",
        "liver",
        "kidney",
        "aspirin",
        "naloxone",
        "hypertension",
        "nephropathy",
    )
    pairs = [f"{word} {word} | the patient with {word}" for word in words]
    for split in ("train", "test"):
        (folder / f"{split}.txt").write_text("\n".join(pairs), encoding="utf-8")

    # 2. Fine-tuning: what it trains is the body, and the run is a model without a head.
    given = ("--train", folder / "train.txt", "--test", folder / "test.txt")
    command = ("finetune", "--model", model, "--task", "search", *given, "--offline", "--json")
    settings = ("--num-epochs", 20, "--learning-rate", 1e-3, "--batch-size", 8)
    out = folder / "trials" / "runs" / "found"
    made = json.loads(run_command(*command, *settings, "--out", out))
    assert made["mean"]["accuracy"] > 0.5  # by chance: 1 of 8
    run = load_run(out)
    assert run.outputs.names == () and run.model.architecture.endswith("Model")

    # 3. Other queries are looked up among the documents of their file.
    (folder / "other.txt").write_text("\n".join(pairs[:4]), encoding="utf-8")
    other = ("--test", folder / "other.txt", "--json")
    scored = json.loads(run_command("evaluate", "--run", run.folder, *other))
    assert scored["examples"] == 4
    predicted = folder / "predicted.jsonl"
    run_command("predict", "--model", run.folder, folder / "other.txt", "--out", predicted)
    rows = [json.loads(line) for line in predicted.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["0", "1", "2", "3"]
    assert {row["label"] for row in rows} <= {"0", "1", "2", "3"}

    # 4. The pages: scores on Results; Try it says what a single query lacks.
    assert draw_part("results", folder / "trials").dataframe
    page = draw_part("try", folder / "trials")
    page.text_area(key="try_sentence").set_value("heart heart").run()
    assert not page.exception, [one.message for one in page.exception]
    assert "collection of documents" in join_values(page.text)


def test_a_task_kind_without_a_head(in_extended_process, tiny_bert, tmp_path):
    in_extended_process(check_kind_without_head, tiny_bert, tmp_path)


# A tokenizer family: it marks the starts of words, where WordPiece marks their continuations.


def check_family(vectors: Path, text: Path, folder: Path) -> None:
    from tests.material.characters import build_character_bert

    # 1. A model of the family opens, and tokenizes words as its tokenizer does.
    before = build_character_bert(folder / "before")
    model = open_model(before)
    assert model.vocabulary.family == "characters"
    assert model.vocabulary.tokenize("heart") == ("▁heart",)
    assert model.vocabulary.tokenize("sepsis") == ("▁s", "e", "p", "s", "i", "s")

    # 2. The words of the vectors find their tokens, and are added; the model is saved and certified.
    given = ("--model", before, "--vectors", vectors, "--offline")
    answer = json.loads(run_command("align", *given, "--method", "ridge", "--folds", 2, "--json"))
    assert answer["anchors"] >= 6  # heart, blood, …, and words of one letter
    adapt = ("adapt", *given, "--initializer", "aligned", "--method", "ridge", "--json")
    numbers = json.loads(run_command(*adapt, "--out", folder / "after"))["numbers"]
    assert numbers["certificate"] is True and numbers["departures"] == 0

    # 3. The saved model tokenizes added words whole, and others as before.
    adapted = open_model(folder / "after")
    assert adapted.vocabulary.tokenize("sepsis") == ("▁sepsis",)
    assert adapted.fast_tokenizer.encode("sepsis, sepsises").tokens == [
        *("<s>", "▁sepsis", "▁,", "▁s", "e", "p", "s", "i", "s", "e", "s", "</s>")
    ]
    i, moved = adapted.vocabulary.ids["▁heart"], model.vocabulary.ids["▁heart"]
    assert (adapted.space.matrix[i] == model.space.matrix[moved]).all()

    # 4. It is trained on masked words, whose parts it tells apart by its own mark.
    is_continuation = adapted.vocabulary.is_continuation[adapted.fast_tokenizer.encode("so").ids]
    assert is_continuation.tolist() == [False, False, True, False]
    budget = ("--stage", "whole", "--tokens", 500, "--length", 32)
    run_command(
        *("pretrain", "--model", folder / "after", "--corpus", text, *budget),
        *("--out", folder / "trained", "--offline"),
    )
    assert open_model(folder / "trained").vocabulary.tokens == adapted.vocabulary.tokens


def test_a_tokenizer_family(in_extended_process, vectors, text, tmp_path):
    in_extended_process(check_family, vectors, text, tmp_path)


def test_a_model_of_a_family_that_is_not_registered_is_refused(tmp_path, monkeypatch):
    from tests.material.characters import build_character_bert
    from vocadapt.vocabulary.families import FAMILIES

    monkeypatch.delitem(FAMILIES, "sentencepiece-bpe")  # it recognizes BPE with ▁, too
    model = open_model(build_character_bert(tmp_path / "model"))
    with raises_input_error("unsupported-tokenizer", "BPE"):
        _ = model.vocabulary
