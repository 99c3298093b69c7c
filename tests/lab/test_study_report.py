"""Reports of a study with finished, collapsed, failed and missing cells, and with hostile names."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from tests.material.runs import write_run
from vocadapt.analysis.results.study_report import render_study_page
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.lab.experiments.studies.grid import Cell, Grid, expand
from vocadapt.lab.experiments.studies.report import build_report, write_report
from vocadapt.lab.experiments.studies.study_file import read_study
from vocadapt.lab.jobs.queue import prepare_cell
from vocadapt.lab.jobs.status import read_status, write_status
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.system.footprint import Rates, estimate_footprint
from vocadapt.training.examples.examples import Sentence

HOSTILE = "=1+1<script>alert(1)</script>&%_$"
STUDY = """
name = "hostile"
seeds = [1, 2]
[[variants]]
name = "plain"
model = "model"
[[variants]]
name = '''{hostile}'''
model = "model"
settings = {{learning_rate = 0.5}}
[[tasks]]
name = '''task"><img src=x>'''
kind = "ner"
train = "train.tsv"
test = "train.tsv"
"""
# cell (variant number, seed) → entities found under its tokenizations, of 10; with 0 it collapsed
FOUND = {(0, 1): {"base": 5}, (0, 2): {"base": 7}, (1, 1): {"base": 2, "pooled": 0}}
EXAMPLES = tuple(Sentence((f"word-{number}",), ("B-Disease",)) for number in range(10))
FOOTPRINT = estimate_footprint(3600, 1, Rates("here", 10.0, 1.0, 0.5, (0.0, 0.0)))  # 10 Wh


@pytest.fixture
def study(tmp_path: Path) -> tuple[Grid, Path]:
    """A study of four cells: two done, one collapsed, one failed."""
    (tmp_path / "model").mkdir()
    (tmp_path / "train.tsv").write_text("Fever\tB-Disease\n\n")
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(hostile=HOSTILE))
    grid, root = expand(read_study(file), tmp_path / "out"), tmp_path / "out"
    for number, cell in enumerate(grid.cells):
        place = (number // 2, cell.seed)
        if place in FOUND:
            finish(cell, root, FOUND[place])
    failed = grid.cells[3]
    job = prepare_cell(Workspace(root), failed.step.spec, failed.step.name, 1)
    broken = {**vars(read_status(job.folder)), "state": "failed", "error": "<b>no weights</b>"}
    write_status(job.folder, type(read_status(job.folder))(**broken))
    return grid, root


def f1(found: int) -> float:
    """F1 of a model that finds some of 10 entities, and nothing else."""
    return 2 * found / (10 + found)


def finish(cell: Cell, root: Path, found: dict[str, int]) -> None:
    """Write the result of a cell that finds the first entities."""
    folder = cell.step.find_folder(root)
    said = {name: [("B-Disease",)] * n + [("O",)] * (10 - n) for name, n in found.items()}
    record = {
        "task": cell.task,
        "settings": {},
        "dev": [0.1, 0.4],
        "curve": [[1, 2.0], [2, 1.5], [3, 1.0], [4, 0.5]],
        "collapsed": 0 in found.values(),
    }
    write_run(folder / f"seed-{cell.seed}", EXAMPLES, said, cell.seed, **record)
    Manifest(
        "runs",
        folder.name,
        {},
        versions={"python": "3.99"},
        threads=1,
        footprint=FOOTPRINT.to_dict(),
        numbers={"collapsed": record["collapsed"]},
    ).save(folder)


def test_a_report_tells_what_is_there_and_what_is_not(study: tuple[Grid, Path]) -> None:
    report = build_report(*study)
    assert report.states == {"done": 2, "collapsed": 1, "failed": 1}
    assert (report.finished, report.planned) == (3, 4)
    plain, other = report.table.rows
    mean = (f1(5) + f1(7)) / 2
    assert (plain["n"], plain["mean"], plain["delta"]) == (2, pytest.approx(mean), None)
    assert (other["n"], other["collapsed"], other["delta"]) == (1, 1, pytest.approx(-mean))
    assert (other["verdict"], other["p"]) == ("collapsed runs: no claim", None)
    (board,) = report.boards
    standings = {(one.run, one.tokenization): one for one in board.standings}
    assert standings[HOSTILE, "pooled"].counts and not standings[HOSTILE, "base"].counts
    assert standings[HOSTILE, "base"].headline.mean == pytest.approx(f1(2))
    assert standings[HOSTILE, "base"].difference is None  # only what counts is compared
    (missing,) = report.unfinished
    assert missing.state == "failed" and "no weights" in missing.problem
    assert report.differing["Learning rate"][1] == "0.5"
    assert report.common["Model"][0] == "model" and report.environment["python"] == "3.99"
    assert report.footprint["measured steps"].startswith("3 of 4 ")
    assert report.footprint["energy"] == "an estimated 0.03 kWh"
    assert report.footprint["CO2"] == "an estimated 0.015 kg CO2"


def test_the_page_is_self_contained_and_escapes_names(study: tuple[Grid, Path]) -> None:
    page = render_study_page(build_report(*study))
    assert "<script" not in page and "<img" not in page and "<b>no" not in page
    assert "=1+1&lt;script&gt;" in page and "&lt;b&gt;no weights&lt;/b&gt;" in page
    assert "http://" not in page
    assert "https://" not in page
    assert "src=" not in page.replace("src=x&gt;", "")
    assert "3 of 4 cells are finished: 2 done, 1 collapsed, 1 failed." in page
    assert page.count('<circle class="dot"') == 2 and page.count('<circle class="collapsed"') == 1
    assert "1 of 1 comparisons are not tested over seeds" in page


def test_tables_escape_their_own_markup(study: tuple[Grid, Path], tmp_path: Path) -> None:
    grid, root = study
    write_report(grid, root, tmp_path / "r.csv", "csv")
    lines = list(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text())))
    assert [line["variant"][:2] for line in lines] == ["pl", "'=", "'="]
    assert float(lines[0]["mean"]) == pytest.approx((f1(5) + f1(7)) / 2) and lines[0]["n"] == "2"
    assert float(lines[0]["sd"]) == pytest.approx((f1(7) - f1(5)) / 2**0.5)
    assert (lines[1]["tokenization"], lines[2]["tokenization"]) == ("pooled", "base")
    write_report(grid, root, tmp_path / "r.tex", "latex")
    table = (tmp_path / "r.tex").read_text()
    assert r"=1+1\textless{}script\textgreater{}alert(1)" in table and r"\&\%\_\$" in table
    assert r"\bfseries .745 $\pm$ .111" in table and r"\toprule" in table


def test_a_report_before_the_first_cell(study: tuple[Grid, Path], tmp_path: Path) -> None:
    grid, _ = study
    empty = tmp_path / "empty"
    assert write_report(grid, empty, tmp_path / "r.html") == 0
    assert "0 of 4 cells are finished: 4 waiting." in (tmp_path / "r.html").read_text()
    with raises_input_error("no-cells", "hostile"):
        write_report(grid, empty, tmp_path / "r.tex", "latex")
    with pytest.raises(InputError, match="already exists"):
        write_report(grid, empty, tmp_path / "r.html")
    with raises_input_error("unknown-choice", "'pdf'"):
        write_report(grid, empty, tmp_path / "r.pdf", "pdf")


def test_the_command_writes_a_report(
    study: tuple[Grid, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, root = study
    file = str(tmp_path / "study.toml")
    place = str(tmp_path / "page.html")
    assert main(["study", "report", file, "--out", str(root), "--to", place, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {"cells": 4, "finished": 3, "format": "html", "file": place}
    assert Path(place).stat().st_size > 5_000
