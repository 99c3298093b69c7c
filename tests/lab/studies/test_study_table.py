"""The table of a study, from runs written by hand whose scores and p-values are known."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.material.runs import write_run
from vocadapt.lab.experiments.studies.grid import Cell, Grid, expand
from vocadapt.lab.experiments.studies.study_file import read_study
from vocadapt.lab.experiments.studies.table import build_table, group_cells
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.training.examples.examples import Sentence

ILL, WELL = ("B-Disease",), ("O",)
EXAMPLES = tuple(Sentence((f"word-{number}",), ILL) for number in range(20))
SMALLEST = 1 / 1001  # p, if none of 1 000 exchanges is as large as the observed difference
CLEAR = 2 / 1001  # p over seeds and examples, if no resample reverses the difference
Answers = Sequence[Sequence[str]]
RIGHT, WRONG = [ILL] * 20, [WELL] * 20


def build_grid(folder: Path, variants: str = "ab", tasks: str = "t", seeds: int = 3) -> Grid:
    """A study whose variants differ in their learning rate."""
    (folder / "model").mkdir()
    (folder / "test.tsv").write_text("Fever\tB-Disease\n\n")
    parts = [f"seeds = {list(range(1, seeds + 1))}"]
    for number, name in enumerate(variants, start=1):
        settings = f"settings = {{ learning_rate = 1e-{number} }}"
        parts.append(f'[[variants]]\nname = "{name}"\nmodel = "model"\n{settings}')
    for number, name in enumerate(tasks, start=1):
        parts.append(
            f'[[tasks]]\nname = "{name}"\nkind = "ner"\ntrain = "test.tsv"\ntest = "test.tsv"\n'
            f"num_epochs = {number}"
        )
    (folder / "s.toml").write_text("\n".join(parts))
    return expand(read_study(folder / "s.toml"), folder / "out")


def finish(
    cell: Cell,
    root: Path,
    said: Answers,
    examples: Sequence[Sentence] = EXAMPLES,
    folds: int = 1,
    **record: object,
) -> None:
    """Write the result of a cell: what it predicts for each example."""
    folder = cell.step.find_folder(root)
    size = len(examples) // folds
    for fold in range(folds):
        part = slice(fold * size, (fold + 1) * size)
        name = f"seed-{cell.seed}-fold-{fold + 1}"
        write_run(folder / name, examples[part], {"base": said[part]}, cell.seed, **record)
    Manifest("runs", folder.name, {}, numbers={"collapsed": record.get("collapsed", False)}).save(
        folder
    )


def build(
    folder: Path, said: Mapping[str, Sequence[Answers]], examples: Sequence[Sentence] = EXAMPLES
) -> dict[str, dict[str, Any]]:
    """The rows of a study by variant, whose cells predict what is given by variant and seed."""
    grid = build_grid(folder, "".join(said), seeds=max(map(len, said.values())))
    for cell in grid.cells:
        if cell.seed <= len(said[cell.variant]):
            finish(cell, folder / "out", said[cell.variant][cell.seed - 1], examples)
    return {row["variant"]: row for row in build_table(grid, folder / "out").rows}


def test_documents_are_the_units_where_they_are_marked(tmp_path):
    """All examples are of one document: any exchange differs as much as what was observed."""
    (tmp_path / "one").mkdir()
    said = {"a": [WRONG] * 3, "b": [RIGHT] * 3}
    one = [replace(example, document="d") for example in EXAMPLES]
    assert build(tmp_path / "one", said, one)["b"]["p_units"] == 1.0
    # Examples that are not all marked are exchanged one by one.
    some = [*one[:-1], EXAMPLES[-1]]
    (tmp_path / "some").mkdir()
    assert build(tmp_path / "some", said, some)["b"]["p_units"] == SMALLEST


def test_seeds_that_disagree_show_no_difference(tmp_path):
    """Whatever a misses with one seed, b misses with another."""
    parts = [[*WRONG[:10], *RIGHT[:10]], [*RIGHT[:10], *WRONG[:10]], RIGHT, RIGHT, RIGHT]
    rows = build(tmp_path, {"a": parts, "b": [*parts[1:], parts[0]]})
    assert rows["b"]["delta"] == pytest.approx(0.0) and rows["b"]["p"] == pytest.approx(1, abs=0.2)
    assert rows["b"]["verdict"] == "no difference shown"
    assert rows["a"]["sd"] == pytest.approx(rows["b"]["sd"]) and rows["a"]["sd"] > 0


def test_the_whole_table_is_corrected_together(tmp_path):
    """Two tasks and three variants are four comparisons: p = 2/1001 twice, 1 twice."""
    grid = build_grid(tmp_path, "abc", "tu", seeds=5)
    better = {("b", "t"), ("c", "u")}
    for cell in grid.cells:
        said = RIGHT if (cell.variant, cell.task) in better else WRONG
        finish(cell, tmp_path / "out", said)
    table = build_table(grid, tmp_path / "out")
    rows = table.rows
    # Rows are those of the file: variants, then tasks.
    assert [row["variant"] + row["task"] for row in rows] == ["at", "au", "bt", "bu", "ct", "cu"]
    # Holm: 4 × 2/1001; max(that, 3 × 2/1001); 2 × 1 and 1 × 1 are cut to 1.
    expected = [None, None, 4 * CLEAR, 1.0, 1.0, 4 * CLEAR]
    assert [row["p"] for row in rows] == [None if p is None else pytest.approx(p) for p in expected]
    verdicts = ["baseline", "baseline", "better", "equal within 1 point"]
    assert [row["verdict"] for row in rows[:4]] == verdicts
    assert table.best_rows == {2, 5}  # the best of each task
    assert {"variant", "task", "n", "collapsed", "mean", "sd", "delta", "p"} <= set(rows[0])


def test_fewer_than_five_seeds_allow_no_claim(tmp_path):
    rows = build(tmp_path, {"a": [WRONG] * 5, "b": [RIGHT] * 4, "c": [RIGHT] * 5, "d": []})
    few = rows["b"]
    assert (few["n"], few["mean"], few["delta"], few["p"]) == (4, 1.0, 1.0, None)
    assert few["verdict"] == "not tested over seeds" and few["p_units"] == SMALLEST
    assert rows["c"]["p"] == pytest.approx(CLEAR)  # the only test: nothing to correct
    assert rows["c"]["verdict"] == "better"
    assert (rows["d"]["n"], rows["d"]["mean"]) == (0, None)


def test_collapsed_seeds_are_in_the_mean_and_counted_beside(tmp_path):
    grid = build_grid(tmp_path, "a")
    for cell in grid.cells:
        collapsed = cell.seed == 2
        said = WRONG if collapsed else RIGHT
        finish(cell, tmp_path / "out", said, collapsed=collapsed)
    (row,) = build_table(grid, tmp_path / "out").rows
    assert (row["n"], row["collapsed"]) == (3, 1)
    assert row["mean"] == pytest.approx(2 / 3) and row["sd"] == pytest.approx((1 / 3) ** 0.5)


def test_a_seed_of_several_folds_counts_once(tmp_path):
    """The score of a seed is the mean over its folds; the test reads the examples of all folds."""
    grid = build_grid(tmp_path)
    for cell in grid.cells:
        said = [*RIGHT[:10], *WRONG[:10]]  # F1 of the folds: 1 and 0
        if cell.variant == "b":
            said = RIGHT
        finish(cell, tmp_path / "out", said, folds=2, collapsed=cell.variant == "a")
    base, better = build_table(grid, tmp_path / "out").rows
    assert (base["n"], base["collapsed"], base["mean"]) == (3, 3, 0.5)
    assert (better["n"], better["mean"], better["delta"]) == (3, 1.0, 0.5)
    assert better["p_units"] == pytest.approx(2 / 1024, abs=0.003)


def test_without_labels_or_dev_scores_there_is_a_row(tmp_path):
    grid = build_grid(tmp_path)
    for cell in grid.cells:
        finish(cell, tmp_path / "out", RIGHT, scores={}, dev=[])
    rows = build_table(grid, tmp_path / "out").rows
    assert [(row["n"], row["mean"], row["delta"]) for row in rows] == [(3, None, None)] * 2


def test_the_named_baseline_has_no_difference_wherever_it_stands(tmp_path):
    grid = build_grid(tmp_path, "abc")
    grid = replace(grid, study=replace(grid.study, baseline="b"))
    for cell in grid.cells:
        finish(cell, tmp_path / "out", RIGHT if cell.variant == "c" else WRONG)
    rows = build_table(grid, tmp_path / "out").rows
    assert [row["variant"] for row in rows] == ["a", "b", "c"]
    assert [row["delta"] for row in rows] == [0.0, None, 1.0]
    assert all(len(cells) == 3 for cells in group_cells(grid, tmp_path / "out").values())
