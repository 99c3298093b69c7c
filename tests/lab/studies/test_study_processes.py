"""Studies in processes of their own: killed as a group, started twice, and started as a job."""

import json
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.material.finetuning import sentences, write_conll
from tests.material.lab import write_text
from tests.material.studies import (
    TOY_TASK,
    find_begun_cell,
    finish_study,
    read_table,
    run_study,
    start_study,
    wait_for,
)
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.presets import PRESETS

pytestmark = pytest.mark.slow
FILE = f"""
name = "s"
seeds = [1, 2]
[settings]
num_epochs = 40
batch_size = 4
[[variants]]
name = "plain"
model = "model"
{TOY_TASK}"""
CORPORA = """
[[variants]]
name = "green"
model = "model"
preset = "green-bert"
no_certificate = true
[[variants]]
name = "mean"
model = "model"
preset = "green-bert"
initializer = "syntactic"
no_certificate = true
[[corpora]]
name = "trials"
files = ["trials.txt"]
[[corpora]]
name = "later"
files = ["later.txt"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "given"
    build_tiny_bert(folder / "model")
    write_conll(folder / "train.tsv", sentences(40))
    write_conll(folder / "test.tsv", sentences(20, 1))
    path = folder / "s.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_a_study_that_runs_already_is_not_started_twice(file, tmp_path):
    file.write_text(FILE.replace("= 40", "= 4000"), encoding="utf-8")
    out = tmp_path / "out"
    first = start_study(file, out, "--workers", "1")
    wait_for(lambda: find_begun_cell(out, part=0), first)
    second = start_study(file, out, "--workers", "1")
    _, log = second.communicate()
    assert second.returncode == 2
    assert str(out) in log
    assert first.poll() is None
    first.send_signal(signal.SIGINT)
    assert "keeps what is finished" in first.communicate()[1]


def test_ray_that_is_not_installed_leaves_nothing(file, tmp_path, monkeypatch):
    """A module of its name that cannot be imported stands before an installed Ray."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "ray.py").write_text("raise ImportError('No module named ray')\n")
    study = start_study(file, tmp_path / "out", "--on", "ray", first=hidden)
    _, log = study.communicate()
    assert study.returncode == 2
    assert "vocadapt[ray]" in log and "Traceback" not in log
    assert not (tmp_path / "out").exists()


def test_results_that_a_worker_cannot_write_fail_their_cells(file, tmp_path):
    """A file stands where the folder of the runs would be; without it the study continues."""
    out = tmp_path / "out"
    study = start_study(file, out, "--workers", "1")
    wait_for(lambda: find_begun_cell(out), study)
    shutil.rmtree(out / "runs", ignore_errors=True)
    (out / "runs").write_text("in the way")
    answer = finish_study(study, code=1)
    assert (answer["done"], answer["failed"]) == (0, 2)
    assert all("Traceback" not in one["problem"] for one in answer["failures"])
    assert all(str(out / "runs") in one["problem"] for one in answer["failures"])
    (out / "runs").unlink()
    assert run_study(file, out, "--workers", "1")["done"] == 2


def test_every_text_of_a_study_is_a_row(file, tmp_path):
    write_text(file.parent / "trials.txt", lines=400)
    write_text(file.parent / "later.txt", lines=300)
    file.write_text(FILE.replace("= 40", "= 1") + CORPORA, encoding="utf-8")
    out = tmp_path / "out"
    answer = run_study(file, out, "--workers", "1")
    assert (answer["cells"], answer["done"], answer["failed"]) == (10, 10, 0)
    rows = json.loads(read_table(file, out))["rows"]
    adapted = [
        f"{variant} · {text}" for variant in ("green", "mean") for text in ("trials", "later")
    ]
    assert [row["variant"] for row in rows] == ["plain", *adapted]
    assert all(row["n"] == 2 for row in rows)

    # Word vectors are trained once for each text, and a model is the same as one adapted by itself.
    assert len(list(out.glob("vectors/*/manifest.json"))) == 2
    models = {path.parent.name.rpartition("-")[0]: path.parent for path in find_models(out)}
    assert set(models) == {"green-trials", "green-later", "mean-trials", "mean-later"}
    green = PRESETS["green-bert"]
    recipe = replace(green, vectors=replace(green.vectors, workers=1))
    inputs = {"model": str(file.parent / "model"), "text": str(file.parent / "trials.txt")}
    spec = Spec(AdaptStep(recipe, certify=False), inputs)
    own = run_step(spec, tmp_path / "own").folder
    weights = "model.safetensors"
    assert (models["green-trials"] / weights).read_bytes() == (own / weights).read_bytes()
    assert (models["green-later"] / weights).read_bytes() != (own / weights).read_bytes()


def find_models(out: Path) -> list[Path]:
    return list(out.glob("models/*/manifest.json"))
