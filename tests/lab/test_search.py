"""Searches of settings: the space, trials averaged over seeds, pruning, and what a kill leaves."""

import json
import math
import shutil
import sys
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from tests.material.finetuning import sentences, write_conll
from tests.material.input_errors import raises_input_error
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.__main__ import main
from vocadapt.analysis.figures.search import TrialMark, plot_importance, plot_trials
from vocadapt.errors import Canceled
from vocadapt.lab.experiments.search import step as search_step
from vocadapt.lab.experiments.search.results import EpochScores
from vocadapt.lab.experiments.search.search import open_journal, read_journal, run_search
from vocadapt.lab.experiments.search.space import (
    Range,
    Space,
    build_space,
    build_thesis_space,
    read_space,
)
from vocadapt.lab.experiments.search.trials import prepare_trials, run_seed_study, summarize_epochs
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.training.finetune.settings import FinetuneSettings

pytest.importorskip("optuna")
SEEDS = (1, 2, 3)
LIST = Space({"learning_rate": (1e-5, 1e-4, 1e-3), "batch_size": (4, 8)}, SEEDS, "test")
RATES = Space({"learning_rate": Range(1e-6, 1e-2, log=True), "batch_size": (4, 8)}, SEEDS, "test")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A tiny model, and a task in files."""
    folder = tmp_path_factory.mktemp("files")
    build_tiny_bert(folder / "bert")
    for seed, name in enumerate(("train", "dev", "test")):
        write_conll(folder / f"{name}.txt", sentences(6, seed))
    return folder


@pytest.fixture
def maker(files):
    """What makes the cells of trials."""
    return prepare_trials(inputs(files), FinetuneStep(kind="ner"), SEEDS)


def inputs(files, *splits):
    """The inputs of a search."""
    named = {name: (str(files / f"{name}.txt"),) for name in splits or ("train", "dev", "test")}
    return {"model": (str(files / "bert"),), **named}


def score(settings, seed):
    """A score that depends on the learning rate alone: 1 at 1e-4, .3 less a power of ten farther."""
    return round(1 - 0.3 * abs(math.log10(settings.finetune.lr) + 4) + 0.01 * seed, 6)


@dataclass
class FakePool:
    """Writes the run of a cell that `answer` (settings, seed) scores, at once; None fails it.

    `stops`: raise Canceled before the cell of this number. `computed`: settings and seeds of cells.
    """

    answer: object = score
    capacity: int = 1
    stops: int = 0
    computed: list = field(default_factory=list)
    ended: list = field(default_factory=list)

    def submit(self, folder):
        job = Job(folder)
        settings, (seed,) = job.spec.settings, job.spec.settings.seeds
        self.computed.append((settings.finetune.lr, settings.finetune.batch, seed))
        if self.stops and len(self.computed) >= self.stops:
            raise Canceled
        value = self.answer(settings, seed)
        if value is not None:
            job.target.mkdir(parents=True)
            record = {"dev": [0.0, value], "seed": seed, "scorer": "entity"}
            (job.target / "run.json").write_text(json.dumps(record), encoding="utf-8")
            Manifest("runs", job.target.name, {}, {}, step="finetune").save(job.target)
        self.ended.append(folder)

    def wait_for_ended(self, seconds):
        ended, self.ended = self.ended, []
        return ended

    def close(self):
        self.ended.clear()


def search(maker, root, pool=None, space=LIST, trials=8, **how):
    root.mkdir(exist_ok=True)
    return run_search(maker, space, trials, root, pool or FakePool(), **how)


def test_the_space_of_the_thesis_is_the_published_table():
    space = build_thesis_space()
    assert space.seeds == (142, 193, 389, 793, 922)
    assert space.axes["batch_size"] == (1, 2, 4, 8, 16)
    assert space.axes["max_length"] == (
        128,
        256,
        512,
    )
    assert len(space.axes["learning_rate"]) == 12 and 1e-3 in space.axes["learning_rate"]
    assert space.axes["num_epochs"] == (3, 5, 10, 15, 20, 30)
    assert space.combinations == 5400 / 5 and "table 5.1" in space.source
    assert space.without(["num_epochs"]).combinations == 180


def test_a_space_file_has_lists_and_ranges(tmp_path):
    file = tmp_path / "space.toml"
    file.write_text(
        'seeds = [7, 8]\nfreeze = ["all", "top-2"]\n'
        "learning_rate = { low = 1e-5, high = 1e-3, log = true }\nnum_epochs = { low = 1, high = 9, step = 2 }\n"
    )
    space = read_space(file)
    assert space.seeds == (7, 8) and space.axes["freeze"] == ("all", "top-2")
    assert space.axes["learning_rate"] == Range(1e-5, 1e-3, True) and space.combinations is None
    assert space.axes["num_epochs"] == Range(1, 9, step=2)
    assert build_space({"weight_decay": [0, 1]}, "f").axes["weight_decay"] == (0.0, 1.0)
    assert build_space({"batch_size": [1]}, "f").seeds == (1, 2, 3)


@pytest.mark.parametrize(
    ("table", "code", "values"),
    [
        ({"batch_sise": [1]}, "unknown-name", ("batch_sise", "batch_size")),
        ({"seed": [1], "batch_size": [1]}, "unknown-name", ("seed", "seeds")),
        ({"batch_size": [0]}, "out-of-range", ("batch_size", "65,536", "got 0")),
        ({"batch_size": ["8"]}, "wrong-type", ("batch_size", "'8'")),
        ({"batch_size": [True]}, "wrong-type", ("batch_size", "True")),
        ({"batch_size": [8, 8]}, "repeated", ("batch_size",)),
        ({"batch_size": []}, "not-an-axis", ("batch_size",)),
        ({"batch_size": 8}, "not-an-axis", ("batch_size", "8")),
        ({"learning_rate": [float("nan")]}, "out-of-range", ("learning_rate",)),
        ({"learning_rate": {"low": 1e-3, "high": 1e-5}}, "bad-range", ("low", "high")),
        ({"learning_rate": {"low": 1e-3}}, "bad-range", ("high",)),
        ({"learning_rate": {"low": 0.1, "high": 1.0, "lg": True}}, "unknown-name", ("lg", "log")),
        ({"weight_decay": {"low": 0.0, "high": 1.0, "log": True}}, "bad-range", ("weight_decay",)),
        ({"freeze": {"low": 1, "high": 3}}, "bad-range", ("freeze",)),
        ({"freeze": ["some"]}, "", ("freeze", "some")),
        ({"with_dev": [True]}, "unknown-name", ("with_dev",)),
        ({"seeds": [1, 2]}, "nothing-to-search", ()),
        ({"seeds": [-1], "batch_size": [1]}, "out-of-range", ("seeds", "-1")),
        ({"seeds": {"low": 1, "high": 2}, "batch_size": [1]}, "not-a-list", ("seeds",)),
        ({"batch_size": [10**400]}, "out-of-range", ("batch_size",)),
    ],
)
def test_a_bad_space_is_reported(table, code, values):
    with raises_input_error(code, "space.toml", *values):
        build_space(table, "space.toml")


def test_a_misspelled_fixed_setting_is_refused_with_the_nearest():
    for space in (LIST, build_thesis_space()):
        with raises_input_error("unknown-name", "'batchsize'", "batch_size?"):
            space.without(["batchsize"])
    assert set(LIST.without(["batch_size"]).axes) == {"learning_rate"}
    assert LIST.without(["warmup_ratio"]) == LIST, "a setting that the space does not search"


def test_the_values_of_a_setting_have_a_bound():
    with raises_input_error("too-many-values", "50,000", "1,000"):
        build_space({"batch_size": list(range(1, 50_001))}, "the space")


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{\n",
        b"null\n",
        b"5\n",
        b"[]\n",
        b"{}\n",
        b'{"op_code": 4}\n',
        b"\xff\xfe\n",
        b"a b\n",
    ],
)
def test_a_damaged_journal_is_one_sentence(damage, maker, tmp_path):
    journal = tmp_path / "optuna.log"
    journal.write_bytes(damage * 3 + b"\n" * bool(damage))
    if not damage:
        assert read_journal(tmp_path) == []
        return
    with raises_input_error("damaged-journal", tmp_path.name):
        read_journal(tmp_path)
    with raises_input_error("damaged-journal", tmp_path.name):
        open_journal(maker, LIST, tmp_path, 0, True)


def test_a_task_without_dev_is_refused(files):
    with_dev = FinetuneStep(FinetuneSettings(with_dev=True), kind="ner")
    for names, settings, code in (
        (("train", "test"), FinetuneStep(kind="ner"), "no-dev-split"),
        (("train", "dev"), with_dev, "not-searched"),
    ):
        with raises_input_error(code, "dev") as caught:
            prepare_trials(inputs(files, *names), settings, SEEDS)
        assert caught.value.remedy


def test_the_best_trial_is_the_mean_over_its_seeds(maker, tmp_path):
    pool = FakePool()
    result = search(maker, tmp_path / "s", pool, trials=20)
    assert result.best.settings["learning_rate"] == 1e-4 and result.best.seeds == SEEDS
    assert result.best.values == (1.01, 1.02, 1.03)
    assert result.best.mean == pytest.approx(1.02)
    assert result.best.sd == pytest.approx(0.01)
    # The score depends on the learning rate alone.
    assert result.importance["learning_rate"] > 0.9 > 0.1 > result.importance["batch_size"]
    assert sum(result.importance.values()) == pytest.approx(1)
    # A cell is computed once, however often its settings are proposed.
    assert len(pool.computed) == len(set(pool.computed)) <= 3 * 6
    assert result.count("done") + result.count("pruned") == 20


def test_a_trial_far_below_the_others_ends_after_two_seeds(maker, tmp_path):
    result = search(maker, tmp_path / "s", space=RATES, trials=15)
    pruned = [trial for trial in result.trials if trial.state == "pruned"]
    assert pruned and all(len(trial.values) == 2 for trial in pruned)
    assert all(trial.trial > 5 for trial in pruned)  # the first five have nothing to compare with
    assert max(trial.mean for trial in pruned) < result.best.mean
    whole = search(maker, tmp_path / "all", space=RATES, trials=15, prunes=False)
    assert whole.count("done") == 15


@pytest.mark.parametrize("stops", [1, 7])
def test_an_interrupted_search_continues_as_if_nothing_had_happened(maker, tmp_path, stops):
    whole = search(maker, tmp_path / "whole", space=RATES, trials=12)
    with pytest.raises(Canceled):
        search(maker, tmp_path / "s", FakePool(stops=stops), RATES, trials=12)
    again = search(maker, tmp_path / "s", space=RATES, trials=12)
    assert again.trials == whole.trials and again.importance == whole.importance
    # Once more: nothing is left to do; with more trials, only those.
    pool = FakePool()
    assert search(maker, tmp_path / "s", pool, RATES, trials=12).trials == whole.trials
    assert not pool.computed
    more = search(maker, tmp_path / "s", pool, RATES, trials=13)
    assert more.trials[:12] == whole.trials and len(more.trials) == 13
    assert search(maker, tmp_path / "other", space=RATES, seed=5).trials != whole.trials[:8]


def test_another_space_shares_the_cells_of_the_folder(maker, tmp_path):
    search(maker, tmp_path / "s", trials=20)
    pool = FakePool()
    small = Space({"learning_rate": (1e-4,)}, SEEDS, "test")
    result = search(maker, tmp_path / "s", pool, small, trials=2)
    assert [trial.trial for trial in result.trials] == [1, 2]
    known = {path.name for path in (tmp_path / "s" / "runs").iterdir()}
    assert len(known) <= 3 * 6 + 3 and len(pool.computed) <= 3  # batch size 16 was not in the list


def test_a_failed_cell_fails_its_trial_alone(maker, tmp_path):
    def answer(settings, seed):
        return None if settings.finetune.lr == 1e-3 and seed == 2 else score(settings, seed)

    result = search(maker, tmp_path / "s", FakePool(answer), trials=15)
    failed = [trial for trial in result.trials if trial.state == "failed"]
    assert failed and {trial.settings["learning_rate"] for trial in failed} == {1e-3}
    assert all(trial.problem and len(trial.values) == 1 for trial in failed)
    assert result.best.settings["learning_rate"] == 1e-4
    none = search(maker, tmp_path / "none", FakePool(lambda *_: None), trials=3)
    assert none.best is None and none.importance == {} and none.count("failed") == 3


def test_a_task_that_changes_while_a_search_runs_fails_its_trials(files, tmp_path):
    own = tmp_path / "files"
    shutil.copytree(files, own)
    maker = prepare_trials(inputs(own), FinetuneStep(kind="ner"), SEEDS)

    def change(settings, seed):
        write_conll(own / "train.txt", sentences(7, 1))
        return 0.5

    result = search(maker, tmp_path / "s", FakePool(change), trials=2)
    assert result.count("failed") == 2
    assert all("train was changed" in trial.problem for trial in result.trials)
    assert not list((tmp_path / "s" / "runs").iterdir())


def test_a_search_whose_every_trial_failed_ends_with_1(files, tmp_path, capsys, monkeypatch):
    """One trial that is done is enough for 0. (A cell that fails is tried a second time.)"""
    given = ["search", "--task", "ner", "--model", str(files / "bert"), "--trials", "3"]
    for name in ("train", "dev", "test"):
        given += [f"--{name}", str(files / f"{name}.txt")]
    pools = [FakePool(lambda *_: None)] * 2
    tries = count()
    pools.append(FakePool(lambda *_: 0.5 if next(tries) >= 2 else None))
    monkeypatch.setattr(search_step, "open_search_pool", lambda *_: pools.pop(0))
    assert main([*given, "--out", str(tmp_path / "none")]) == 1
    assert "3 trials: 0 done, 0 pruned, 3 failed" in capsys.readouterr().out
    answers = []
    for name, code in (("json", 1), ("some", 0)):
        assert main([*given, "--out", str(tmp_path / name), "--json"]) == code
        answers.append(json.loads(capsys.readouterr().out))
    none, some = answers
    assert none["trials"] == none["failed"] == 3 and none["done"] == 0 and none["best"] is None
    assert all(row["state"] == "failed" and row["problem"] for row in none["rows"])
    assert none["command"] == "" and none["seconds"] > 0
    assert some["failed"] == 1 and some["done"] == 2 and some["best"]["mean"] == 0.5


def test_several_workers_train_several_trials_at_once(maker, tmp_path):
    result = search(maker, tmp_path / "s", FakePool(capacity=4), RATES, trials=10)
    assert len(result.trials) == 10 and result.best.mean > 0.7


def test_without_optuna_the_remedy_is_reported(maker, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with raises_input_error("no-optuna", "vocadapt[search]"):
        search(maker, tmp_path / "s")


def test_scores_by_epoch_and_seed(maker, tmp_path):
    assert summarize_epochs([(0.2, 0.6), (0.4,)]) == [
        EpochScores(1, (0.2, 0.4), 2, pytest.approx(0.3), pytest.approx(0.02**0.5)),
        EpochScores(2, (0.6, None), 1, 0.6, None),
    ]
    assert summarize_epochs(()) == []
    tmp_path.joinpath("s").mkdir()
    pool = FakePool(lambda _, seed: None if seed == 2 else 0.5)
    numbers = run_seed_study(maker, tmp_path / "s", pool)
    assert numbers["seeds"] == [1, 3] and numbers["best_epoch"] == [2, 2]
    assert [row.scores for row in numbers["rows"]] == [(0.0, 0.0), (0.5, 0.5)]
    assert [failure["attempts"] for failure in numbers["failures"]] == [2]


def test_figures_show_what_they_are_given():
    bars = plot_importance({"a": 0.2, "<b>": 0.8})
    assert list(bars.data[0].x) == [0.8, 0.2] and "&lt;b&gt;" in bars.layout.yaxis.ticktext[0]
    marks = [
        TrialMark(1, "done", 0.5, 0.1, "x 1"),
        TrialMark(2, "pruned", 0.2, None, "x 2"),
        TrialMark(3, "failed", None, None, "x 3"),
        TrialMark(4, "done", 0.4, 0.1, "<i>"),
    ]
    traces = {trace.name: trace for trace in plot_trials(marks, "f1").data}
    assert set(traces) == {"done", "pruned", "best so far"}
    assert list(traces["best so far"].y) == [0.5, 0.5]
    assert "&lt;i&gt;" in traces["done"].customdata[1][1]


@pytest.mark.slow
def test_the_commands_train_and_continue(files, tmp_path, capsys):
    space = tmp_path / "space.toml"
    space.write_text("batch_size = [2, 3]\nnum_epochs = [1, 2]\nseeds = [1, 2]\n")
    given = ["--task", "ner", "--model", str(files / "bert"), "--num-epochs", "2", "--json"]
    for name in ("train", "dev", "test"):
        given += [f"--{name}", str(files / f"{name}.txt")]
    out = ["--out", str(tmp_path / "s"), "--workers", "1"]
    assert main(["search", *given, *out, "--space", str(space), "--trials", "2"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["space"] == {"batch_size": [2, 3]}  # a setting that is given is not searched
    assert answer["trials"] == answer["done"] == 2 and answer["best"]["n"] == 2
    for part in ("finetune", "--num-epochs 2", "--seeds 1 2", "--task ner"):
        assert part in answer["command"]
    assert "142" in answer["thesis"] and Path(answer["figures"]).is_file()

    # A search trains its cells itself.
    assert main(["search", *given, "--out", str(tmp_path / "x"), "--on", "slurm"]) == 2
    assert "array script" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_trains_all_seeds_and_shows_scores_by_epoch(files, tmp_path, capsys):
    given = ["--task", "ner", "--model", str(files / "bert"), "--num-epochs", "2", "--json"]
    for name in ("train", "dev", "test"):
        given += [f"--{name}", str(files / f"{name}.txt")]
    out = ["--out", str(tmp_path / "seeds"), "--workers", "1"]
    assert main(["search", "seeds", *given, *out, "--seeds", "1", "2"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [len(row["scores"]) for row in answer["rows"]] == [2, 2] and answer["seeds"] == [1, 2]


def test_the_journal_shows_the_trials_of_a_running_search(maker, tmp_path):
    assert read_journal(tmp_path) == []
    result = search(maker, tmp_path / "done", FakePool())
    assert read_journal(tmp_path / "done") == list(result.trials)
    with pytest.raises(Canceled):
        search(maker, tmp_path / "stopped", FakePool(stops=5))
    assert [one.state for one in read_journal(tmp_path / "stopped")] == ["done", "running"]
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "optuna.log").write_text("{no json}\n{no json}\n", encoding="utf-8")
    with raises_input_error("damaged-journal", "broken"):
        read_journal(tmp_path / "broken")
