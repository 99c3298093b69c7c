"""Benchmarks and experiments can be imported and read their options, the small benchmarks run, and a
figure from a busy machine never replaces a quiet one."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as runner
from benchmarks._figures import QUIET, Figure, OtherLoad, run, time_in_turn
from tests.material.cases import check_each

ROOT = Path(__file__).parents[1]
BENCHMARKS = runner.list_benchmarks()
EXPERIMENTS = sorted(path.stem for path in (ROOT / "experiments").glob("[a-z]*.py"))


def load(name):
    return importlib.import_module(f"benchmarks.{name}")


@check_each("name", BENCHMARKS)
def test_a_benchmark_is_imported_and_yields_figures(name):
    module = load(name)
    assert module.__doc__ and callable(module.measure)


@check_each("name", EXPERIMENTS)
def test_an_experiment_is_imported_and_reads_its_options(name, monkeypatch, capsys):
    module = importlib.import_module(f"experiments.{name}")
    assert module.__doc__ and callable(module.main)
    if "ArgumentParser" not in (ROOT / "experiments" / f"{name}.py").read_text(encoding="utf-8"):
        return
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    assert "usage:" in capsys.readouterr().out


def test_a_figure_by_hand():
    figure = Figure("least squares", (2.0, 1.0, 3.0), baseline=(8.0,), against="lstsq", target=0.2)
    assert (figure.median, figure.ratio, figure.is_met) == (2.0, 0.25, False)
    assert [part in figure.describe() for part in ("2 s", "8 s", "0.25 ×", "0.2 ×", "missed")] == [
        True
    ] * 5
    fast = Figure(
        "ours", (2.0,), baseline=(8.0,), against="theirs", speed=True, target=3, at_least=True
    )
    assert (fast.ratio, fast.is_met) == (4.0, True)
    assert Figure("memory", (601.0,), "MB", target=600).is_met is False
    assert Figure("memory", (601.0,), "MB").is_met is None


def test_works_are_timed_in_turn():
    calls = []
    seconds = time_in_turn({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3)
    assert calls == ["a", "b"] * 3
    assert {name: len(values) for name, values in seconds.items()} == {"a": 3, "b": 3}


def test_the_load_of_other_processes_does_not_count_this_one():
    load, used = OtherLoad(), 0
    while used < 10**6:
        used += 1
    assert 0 <= load.read() < 64


def test_figures_are_printed_and_kept_and_a_missed_target_is_the_status(
    tmp_path, monkeypatch, capsys
):
    def measure(full):
        yield Figure("memory", (700.0 if full else 500.0,), "MB", target=600)

    monkeypatch.setattr("benchmarks._figures.WATCHED", 0.01)
    file = tmp_path / "new.json"
    monkeypatch.setattr(sys, "argv", ["x", "--json", str(file)])
    assert run(measure) == 0
    kept = json.loads(file.read_text())
    assert kept["figures"][0]["values"] == [500.0] and kept["full"] is False
    monkeypatch.setattr(sys, "argv", ["x", "--full"])
    assert run(measure) == 1
    assert "700 MB" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("earlier", "new", "kept"), [(0.0, 0.5, "earlier"), (0.5, 0.6, "new"), (0.5, 0.0, "new")]
)
def test_a_quiet_figure_is_replaced_by_a_quiet_one_only(tmp_path, earlier, new, kept):
    path = tmp_path / "words.json"
    path.write_text(json.dumps({"other_load": earlier, "which": "earlier"}))
    runner.keep(path, {"other_load": new, "which": "new"})
    assert json.loads(path.read_text())["which"] == kept


def test_the_page_states_every_benchmark_and_marks_a_busy_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    figures = [{"name": "one query", "values": [1.0], "unit": "ms", "baseline": []}]
    about = {"date": "2026-01-01", "cores": 2, "commit": "abc", "other_load": 2 * QUIET}
    (tmp_path / "neighbors.json").write_text(json.dumps({"figures": figures, **about}))
    page = runner.write_page()
    assert [name for name in BENCHMARKS if f"| `{name}` |" not in page] == []
    assert [name for name in EXPERIMENTS if f"| `{name}` |" not in page] == []
    (row,) = (line for line in page.splitlines() if line.startswith("| `neighbors`"))
    assert "1 ms" in row and "**not quiet**" in row


def test_the_page_of_the_documentation_is_current():
    assert runner.PAGE.read_text(encoding="utf-8") == runner.write_page()


def test_initializers_compares_every_method_that_needs_no_text(monkeypatch):
    module = load("initializers")
    for name, small in {"TARGET": 400, "COMMON": 200, "DIM": 16, "OMP": 20}.items():
        monkeypatch.setattr(module, name, small)
    from vocadapt.vocabulary.initializers.initialize import INITIALIZERS

    *found, focus = module.measure(False)
    measured = [one.name.partition(",")[0] for one in found]
    assert measured == [name for name in INITIALIZERS if name not in module.LEFT_OUT]
    assert focus.name == "focus" and focus.ratio


def test_neighbors_compares_all_measures(monkeypatch):
    module = load("neighbors")
    for name, small in {"ROWS": 3000, "DIM": 8, "QUERIES": 20, "BLOCK": 30_000}.items():
        monkeypatch.setattr(module, name, small)
    found = list(module.measure(False))
    assert [one.name.rpartition(" ")[2] for one in found] == ["query", "cosine", "Euclid", "CSLS"]
    assert all(one.ratio for one in found)


def test_alignment_solves_a_small_system(monkeypatch):
    module = load("alignment")
    for name, small in {"ANCHORS": 200, "DIM": 8}.items():
        monkeypatch.setattr(module, name, small)
    solved, difference, _ = module.measure(False)
    assert solved.ratio and difference.is_met


def test_exbert_takes_a_step_of_each_way(tmp_path, monkeypatch):
    """One step of the plain model and one of stage 1, on a few sentences."""
    module = load("exbert")
    for name, small in {"OLD": 400, "NEW": 100, "BATCH": 2, "LENGTH": 16, "SENTENCES": 20}.items():
        monkeypatch.setattr(module, name, small)
    tokens, sentences = module.invented()
    (tmp_path / "sentences.txt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
    way = module.Ours(module.stage_one(), tokens, tmp_path)
    public = module.Public(module.stage_one(), tokens, tmp_path)
    seconds, pieces = module.measure_steps({"stage 1": way, "public path": public}, 1, 0.1)
    assert all(np.isfinite(taken).all() for taken in seconds.values())
    assert all(pieces.values())
