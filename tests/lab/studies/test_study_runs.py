"""Running a study: what is there is skipped, a killed study continues, a failing cell stops no other."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import pytest

from tests.material.finetuning import sentences, write_conll
from tests.material.lab import write_text
from tests.material.studies import TOY_TASK
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.cli import main
from vocadapt.errors import Canceled
from vocadapt.lab.experiments.studies.estimates import estimate_grid
from vocadapt.lab.experiments.studies.grid import expand
from vocadapt.lab.experiments.studies.study_file import read_study
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.steps.adapt import ADAPTING
from vocadapt.lab.workspace.drafts import open_growing
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.system.cores import count_cores

FILE = f"""
name = "s"
seeds = [1, 2]
retries = 0
[settings]
num_epochs = 2
learning_rate = 0.003
[[variants]]
name = "plain"
model = "model"
[[variants]]
name = "frozen"
model = "model"
freeze = "head"
{TOY_TASK}"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    build_tiny_bert(folder / "model")
    write_conll(folder / "train.tsv", sentences(40))
    write_conll(folder / "test.tsv", sentences(20, 1))
    (folder / "s.toml").write_text(FILE, encoding="utf-8")
    return folder / "s.toml"


def answer(capsys, *arguments: str) -> tuple[int, dict]:
    capsys.readouterr()
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_study_runs_once_and_its_table_is_that_of_its_runs(file, tmp_path, capsys):
    out = tmp_path / "out"
    place = ("--out", str(out))
    code, first = answer(capsys, "study", "run", str(file), *place, "--workers", "1")
    assert code == 0 and first["cells"] == first["done"] == 4
    assert first["failed"] == first["skipped"] == 0 and Path(first["manifest"]).is_file()

    # The table is computed from the saved runs, in the order of the file.
    grid = expand(read_study(file), out)
    _, table = answer(capsys, "study", "table", str(file), *place)
    assert [(row["variant"], row["task"], row["n"]) for row in table["rows"]] == [
        ("plain", "toy", 2),
        ("frozen", "toy", 2),
    ]
    for number, row in enumerate(table["rows"]):
        folders = [cell.step.find_folder(out) for cell in grid.cells[2 * number : 2 * number + 2]]
        records = [json.loads((folder / "run.json").read_text()) for folder in folders]
        scores = [record["scores"]["base"]["f1"] for record in records]
        assert row["mean"] == pytest.approx(mean(scores))
        assert row["sd"] == pytest.approx(stdev(scores))
        assert row["collapsed"] == sum(record["collapsed"] for record in records)
    plain, frozen = table["rows"]
    assert plain["delta"] is None and plain["p"] is None
    assert frozen["delta"] == pytest.approx(frozen["mean"] - plain["mean"])
    assert 0 < frozen["p_units"] <= 1 and frozen["p"] is None

    # Each cell was computed with one thread, and would be if it were resumed alone.
    for cell in grid.cells:
        assert Manifest.load(cell.step.find_folder(out)).threads == 1
        assert Job(out / "jobs" / cell.step.name).threads == 1

    code, again = answer(capsys, "study", "run", str(file), *place, "--workers", "1")
    assert code == 0 and again["skipped"] == 4 and again["done"] == 0
    assert answer(capsys, "study", "table", str(file), *place)[1] == table


@pytest.mark.slow
def test_a_failing_cell_stops_no_other(file, tmp_path, capsys):
    """The second task has a tag that is none; its cells are not tried again: the file is at fault."""
    bad = file.parent / "bad.tsv"
    bad.write_text("Fever\tQ-Disease\n\n", encoding="utf-8")
    task = f'[[tasks]]\nname = "bad"\nkind = "ner"\ntrain = "{bad.name}"\ntest = "{bad.name}"\n'
    exclude = '[[exclude]]\nvariant = "frozen"\n[[exclude]]\ntask = "toy"\nseed = 2\n'
    other = file.with_name("failing.toml")
    other.write_text(FILE.replace("retries = 0", "retries = 3") + task + exclude)
    place = ("--out", str(tmp_path / "out"))
    code, found = answer(capsys, "study", "run", str(other), *place, "--workers", "1")
    assert code == 1
    assert (found["cells"], found["done"], found["failed"]) == (3, 1, 2)
    assert {one["attempts"] for one in found["failures"]} == {1}
    assert all("Q-Disease" in one["problem"] for one in found["failures"])
    _, table = answer(capsys, "study", "table", str(other), *place)
    good, failed = table["rows"]
    assert good["n"] == 1 and good["sd"] is None
    assert (failed["n"], failed["mean"], failed["p"]) == (0, None, None)


def test_all_folds_count_in_the_estimate(tmp_path):
    build_tiny_bert(tmp_path / "model")
    for fold in (1, 2):
        write_conll(tmp_path / f"train{fold}.tsv", sentences(40))
        write_conll(tmp_path / f"test{fold}.tsv", sentences(20, 1))
    (tmp_path / "task.toml").write_text(
        'name = "folds"\nkind = "ner"\nfolds = 2\n[splits]\n'
        'train = "train{fold}.tsv"\ntest = "test{fold}.tsv"\n'
    )
    text = 'seeds = [1]\n[[variants]]\nname = "plain"\nmodel = "model"\n'
    text += '[[tasks]]\nname = "folds"\ntask = "task.toml"\nfold = {}\n'
    seconds = []
    for fold in ("1", '"all"'):
        (tmp_path / "s.toml").write_text(text.format(fold))
        grid = expand(read_study(tmp_path / "s.toml"), tmp_path / "out")
        cost = estimate_grid(grid, tmp_path / "out", 1)
        seconds.append(cost.forecast.idle_seconds)
    assert seconds[1] == pytest.approx(2 * seconds[0])


def test_adaptations_are_estimated_from_their_text_and_the_finished_ones(tmp_path):
    build_tiny_bert(tmp_path / "model")
    write_conll(tmp_path / "train.tsv", sentences(4))
    text = FILE.replace("test.tsv", "train.tsv").replace('freeze = "head"', 'corpus = "text.txt"')
    (tmp_path / "s.toml").write_text(text)
    out, seconds = tmp_path / "out", []
    for lines in (1_000, 100_000):
        write_text(tmp_path / "text.txt", lines)
        grid = expand(read_study(tmp_path / "s.toml"), out)
        seconds.append(estimate_grid(grid, out, 1).forecast.total_idle_seconds)
    assert seconds[0] > ADAPTING
    (vectors,), (model,) = grid.vectors.values(), grid.models.values()
    training = seconds[1] - seconds[0]
    assert training > 0.3

    # Vectors that took long are no reason to expect more of the model, and the other way round.
    timing = {"work": 10.0, "start_up": 0.0, "load": 1.0, "cores": count_cores()}

    def finish(step):
        made = Manifest(step.spec.kind, step.name, {}, step=step.spec.step, timing=timing)
        replace(made, seconds=1000.0).save(make(step.find_folder(out)))
        return estimate_grid(grid, out, 1).forecast.total_idle_seconds

    assert finish(vectors) == pytest.approx(seconds[0], rel=0.05)
    assert finish(model) < seconds[0] - ADAPTING / 2

    # A second model is forecast at the rate of the first.
    other = text + '[[variants]]\nname = "mean"\nmodel = "model"\ncorpus = "text.txt"\n'
    (tmp_path / "s.toml").write_text(other + 'initializer = "syntactic"\n')
    grid = expand(read_study(tmp_path / "s.toml"), out)
    cost = estimate_grid(grid, out, 1)
    assert len(grid.vectors) == 1 and cost.seconds_alone > 1000
    assert cost.forecast.basis == "from earlier runs and default rates"


def make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("interruption", [Canceled(), KeyboardInterrupt()])
def test_a_canceled_study_says_that_its_results_are_kept(tmp_path, interruption):
    with pytest.raises(Canceled, match="keeps what is finished"), open_growing(tmp_path / "s") as s:
        (s / "runs").mkdir()
        raise interruption
    assert (tmp_path / "s" / "runs").is_dir()
    with pytest.raises(type(interruption)) as canceled, open_growing(tmp_path / "empty"):
        raise interruption
    assert not str(canceled.value) and not (tmp_path / "empty").exists()
