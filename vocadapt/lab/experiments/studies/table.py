"""The table of a study: a row for each variant and task, with means over seeds and paired tests."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vocadapt.lab.experiments.studies.grid import Cell, Grid
from vocadapt.lab.results.runs import RunSet
from vocadapt.training.finetune.run_files import SavedRun, load_runs
from vocadapt.training.scoring.counts import Tally
from vocadapt.training.scoring.uncertainty import (
    DEFAULT_DRAWS,
    Draws,
    align_labels,
    average_tallies,
    compare_tallies,
)
from vocadapt.training.tasks.predictions import build_tally

MIN_SEEDS = 3  # no test with fewer


@dataclass(frozen=True)
class Row:
    """A variant on a task: number of finished and of collapsed seeds, mean and standard deviation
    (n − 1) of the headline score over all finished seeds, difference of the means to the baseline,
    and p of its test, corrected for the number of tests in the table. Scores are fractions.
    """

    variant: str
    task: str
    n: int
    collapsed: int
    mean: float | None
    sd: float | None
    delta: float | None
    p: float | None


def build_table(grid: Grid, root: Path, draws: Draws = DEFAULT_DRAWS) -> tuple[Row, ...]:
    """Build the table of a study from the cells that are finished.

    1. Collect the finished runs of each variant and task, and summarize their headline scores.
    2. Compare each with the baseline on the same task, if both have MIN_SEEDS seeds.
    3. Correct the p-values by Holm's method, over the whole table.
    """
    # 1. Means over seeds.
    runs = {place: open_cells(cells, root) for place, cells in group_cells(grid, root).items()}
    rows = [_summarize(variant, task, own) for (variant, task), own in runs.items()]

    # 2. Differences and tests. The baseline itself has neither.
    compared, baseline = [], grid.baseline
    bases = {row.task: row for row in rows if row.variant == baseline}
    for row in rows:
        base = bases.get(row.task)
        if base is None or base is row or base.mean is None or row.mean is None:
            compared.append(row)
            continue
        p = None
        if min(base.n, row.n) >= MIN_SEEDS:
            theirs, ours = runs[base.variant, base.task], runs[row.variant, row.task]
            p = _test(theirs, ours, draws)
        compared.append(replace(row, delta=row.mean - base.mean, p=p))

    # 3. The correction.
    found = [row.p for row in compared if row.p is not None]
    corrected = iter(correct_by_holm(found))
    return tuple(row if row.p is None else replace(row, p=next(corrected)) for row in compared)


def group_cells(grid: Grid, root: Path) -> dict[tuple[str, str], list[Cell]]:
    """Return (variant, task) → its finished cells, in the order of the file: variants, then tasks."""
    grouped: dict[tuple[str, str], list[Cell]] = {}
    for cell in grid.cells:
        finished = grouped.setdefault((cell.row, cell.task), [])
        if cell.step.is_whole(root):
            finished.append(cell)
    return grouped


def open_cells(cells: Sequence[Cell], root: Path) -> RunSet | None:
    """Open the runs of the cells of one row together; None if there are none."""
    runs: list[SavedRun] = []
    for cell in cells:
        runs += load_runs(cell.step.find_folder(root))
    if not runs:
        return None
    return RunSet(cells[0].step.find_folder(root), tuple(runs))


def _summarize(variant: str, task: str, runs: RunSet | None) -> Row:
    if runs is None or not runs.tokenizations:
        return Row(variant, task, 0 if runs is None else len(runs.seeds), 0, None, None, None, None)
    summary = runs.summary()
    return Row(
        variant, task, len(runs.seeds), sum(runs.collapsed), summary.mean, summary.sd, None, None
    )


def _test(base: RunSet | None, ours: RunSet | None, draws: Draws) -> float | None:
    """Return p of a paired approximate randomization test over test examples, or over documents where
    they are marked; None if the two were not tested on the same examples.

    The counts of an example are averaged over seeds, which for these scores is to sum them.
    """
    if base is None or ours is None:
        return None
    first, second = _count(base), _count(ours)
    if len(first.rows) != len(second.rows) or _examples(base) != _examples(ours):
        return None
    return compare_tallies(ours.scorer, first, second, ours.runs[0].rules, draws).p_randomisation


def _examples(runs: RunSet) -> list[Any]:
    """Return the test examples of a seed, those of all folds."""
    own = (run.test_predictions.split.examples for run in runs.of_seed(runs.seeds[0]))
    return [example for examples in own for example in examples]


def _count(runs: RunSet) -> Tally:
    """Count the predictions by document, or by example where documents are not marked, averaged over
    seeds.
    """
    import numpy as np

    by_seed = []
    for seed in runs.seeds:
        folds = align_labels([_count_run(run, runs) for run in runs.of_seed(seed)])
        rows = np.concatenate([fold.rows for fold in folds])
        by_seed.append(Tally(rows, folds[0].labels))
    return average_tallies(by_seed)


def _count_run(run: SavedRun, runs: RunSet) -> Tally:
    kept = run.test_predictions
    predicted = kept.predicted[runs.main_tokenization]
    unit = "document" if all(kept.split.documents) else ""
    return build_tally(kept.split, predicted, runs.scorer, run.rules, unit)


def correct_by_holm(values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by the method of Holm 1979, in the given order.

    The smallest of m is multiplied by m, the next by m − 1, …; none becomes smaller than the one
    before it, or larger than 1. Example: .01 .04 .03 -> .03 .06 .06.
    """
    order = sorted(range(len(values)), key=lambda place: values[place])
    corrected, least = [0.0] * len(values), 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = least
    return corrected


def describe_collapsed(rows: Sequence[Row]) -> str:
    """Describe the rows whose seeds have all collapsed, and what to change; "" if there are none."""
    names = [f"{row.variant} on {row.task}" for row in rows if row.n and row.collapsed == row.n]
    if not names:
        return ""
    return (
        f"All runs collapsed: {', '.join(names)}. Their scores, and differences to them, say nothing"
        " about the variants. Train longer, with more examples, or with another learning rate."
    )


def to_json(rows: Sequence[Row]) -> dict[str, Any]:
    """Return a table as JSON values."""
    return {"rows": [asdict(row) for row in rows]}
