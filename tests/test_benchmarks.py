"""Every benchmark can be imported and parses its options, and the small ones start, so a rename
cannot break them unnoticed."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.material.cases import check_each

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
NAMES = sorted(path.stem for path in BENCHMARKS.glob("[a-z]*.py"))


def load(name):
    return importlib.import_module(f"benchmarks.{name}")


@check_each("name", NAMES)
def test_it_is_imported_and_reads_its_options(name, monkeypatch, capsys):
    module = load(name)
    assert module.__doc__ and callable(module.main)
    if "ArgumentParser" not in (BENCHMARKS / f"{name}.py").read_text(encoding="utf-8"):
        return
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    assert "usage:" in capsys.readouterr().out


def test_initializers_compares_every_method_that_needs_no_text(monkeypatch, capsys):
    module = load("initializers")
    for name, small in {"TARGET": 400, "COMMON": 200, "DIM": 16, "OMP": 20}.items():
        monkeypatch.setattr(module, name, small)
    module.main()
    printed = capsys.readouterr().out
    from vocadapt.vocabulary.initializers.initialize import INITIALIZERS

    assert [
        name for name in INITIALIZERS if name not in module.LEFT_OUT and name not in printed
    ] == []
    assert "published focus" in printed


def test_neighbors_compares_all_measures(monkeypatch, capsys):
    module = load("neighbors")
    for name, small in {"ROWS": 3000, "DIM": 8, "QUERIES": 20, "BLOCK": 30_000}.items():
        monkeypatch.setattr(module, name, small)
    module.main()
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("one query", "cosine", "Euclid", "CSLS"))


def test_alignment_solves_a_small_system(monkeypatch, capsys):
    module = load("alignment")
    for name, small in {"ANCHORS": 200, "DIM": 8}.items():
        monkeypatch.setattr(module, name, small)
    module.main()
    assert "condition" in capsys.readouterr().out


def test_exbert_takes_a_step_of_each_way(tmp_path, monkeypatch):
    """One step of the plain model and one of stage 1, on a few sentences."""
    module = load("exbert")
    for name, small in {"OLD": 400, "NEW": 100, "BATCH": 2, "LENGTH": 16, "SENTENCES": 20}.items():
        monkeypatch.setattr(module, name, small)
    tokens, sentences = module.invented()
    (tmp_path / "sentences.txt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
    way = module.Ours(module.stage_one(), tokens, tmp_path)
    public = module.Public(module.stage_one(), tokens, tmp_path)
    seconds, pace = module.measured({"stage 1": way, "public path": public}, 1, 0.1)
    assert all(np.isfinite(value) for value in (*seconds.values(), *pace.values()))
