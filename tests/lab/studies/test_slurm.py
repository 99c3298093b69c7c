"""A study under SLURM: the script is run here by bash, with the number of its task set by hand."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.material.finetuning import sentences, write_conll
from tests.material.input_errors import raises_input_error
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.lab.experiments.studies.grid import expand
from vocadapt.lab.experiments.studies.places import check_place
from vocadapt.lab.experiments.studies.slurm import Allocation, write_script
from vocadapt.lab.experiments.studies.study_file import read_study

ROOT = Path(__file__).parents[3]
STUDY = """
name = "s"
seeds = [1, 2, 3]
threads = 2
[settings]
num_epochs = 1
[[variants]]
name = "tiny"
model = "bert"
[[tasks]]
name = "spans"
kind = "ner"
train = "train file.txt"
test = "train file.txt"
"""


@pytest.fixture
def study_file(tmp_path):
    write_conll(tmp_path / "train file.txt", sentences(12))
    build_tiny_bert(tmp_path / "bert")
    (tmp_path / "a study.toml").write_text(STUDY)
    return tmp_path / "a study.toml"


def test_the_script_asks_for_what_a_cell_takes(study_file, tmp_path):
    assert check_place("slurm") == "slurm"
    out = tmp_path / "out"
    out.mkdir()
    grid = expand(read_study(study_file), out)
    done = grid.cells[1].step.find_folder(out)
    done.mkdir(parents=True)
    (done / "manifest.json").touch()
    script = write_script(grid, out, study_file, Allocation(2, 600.0, 3.0e9, 0.5))
    text = script.read_text()
    lines = set(text.splitlines())
    assert "#SBATCH --array=0,2%2" in lines  # the second cell is there
    assert {"#SBATCH --cpus-per-task=2", "#SBATCH --mem=3000M", "#SBATCH --gres=gpu:1"} <= lines
    assert "#SBATCH --time=60" in lines  # minutes: 30 and three times the estimate
    assert "export OMP_NUM_THREADS=2" in lines
    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0


def test_a_whole_study_has_no_script(study_file, tmp_path):
    grid = expand(read_study(study_file), tmp_path)
    for cell in grid.cells:
        folder = cell.step.find_folder(tmp_path)
        folder.mkdir(parents=True)
        (folder / "manifest.json").touch()
    assert write_script(grid, tmp_path, study_file, Allocation(0, 1.0, 1e9)) is None


def test_more_cells_than_an_array_may_have_are_shared_out(study_file, tmp_path, monkeypatch):
    monkeypatch.setattr("vocadapt.lab.experiments.studies.slurm.MAX_TASKS", 2)
    grid = expand(read_study(study_file), tmp_path)
    text = write_script(grid, tmp_path, study_file, Allocation(0, 60.0, 1e9)).read_text()
    assert "--array=0,1\n" in text
    assert re.search(r'"\$SLURM_ARRAY_TASK_ID" --of 2 ', text)
    assert "--time=36\n" in text  # two cells of a minute each, three times
    assert "--confirm" not in text


def test_the_tasks_of_a_large_study_confirm_it_too(study_file, tmp_path, monkeypatch):
    for module in ("grid", "slurm"):
        monkeypatch.setattr(f"vocadapt.lab.experiments.studies.{module}.MANY_CELLS", 2)
    study_file.write_text(f"exclude = [{{seed = 1}}]{STUDY}")
    study = read_study(study_file)
    with raises_input_error("many-cells", "3 cells"):
        expand(study, tmp_path)
    grid = expand(study, tmp_path, confirmed=3)
    text = write_script(grid, tmp_path, study_file, Allocation(0, 60.0, 1e9)).read_text()
    # The number is that of all cells, which is asked for: not the two that the rules leave.
    assert len(grid.cells) == 2 and " --confirm 3 " in text


@pytest.mark.slow
def test_tasks_of_the_script_run_the_study(study_file, tmp_path):
    command = [sys.executable, "-m", "vocadapt", "study"]
    place = [str(study_file), "--out", str(tmp_path / "out"), "--json"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}

    def run(*arguments, **more):
        result = subprocess.run(
            arguments, capture_output=True, text=True, env={**env, **more}, cwd=tmp_path
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    written = json.loads(run(*command, "run", *place, "--on", "slurm").splitlines()[-1])
    assert (written["cells"], written["done"], written["failed"]) == (3, 0, 0)
    for number in ("0", "2", "1", "1"):  # the last one finds its cell there
        run("bash", written["script"], SLURM_ARRAY_TASK_ID=number)
    finished = json.loads(run(*command, "run", *place).splitlines()[-1])
    assert (finished["cells"], finished["skipped"], finished["failed"]) == (3, 3, 0)
    manifests = (tmp_path / "out").glob("runs/*/manifest.json")
    assert [json.loads(path.read_text())["threads"] for path in manifests] == [2, 2, 2]
