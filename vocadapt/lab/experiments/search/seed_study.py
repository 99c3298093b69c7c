"""The dev score after each epoch, for each seed (Fast 2023, figure 6.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt.lab.experiments.search.trials import TrialMaker, read_dev_scores
from vocadapt.lab.experiments.studies.grid import Cell, Grid
from vocadapt.lab.experiments.studies.pools import Pool
from vocadapt.lab.experiments.studies.runner import Failure, is_collapsed, run_grid
from vocadapt.progress import Progress, silent
from vocadapt.training.scoring.summary import summarize_seeds


@dataclass(frozen=True)
class SeedCurve:
    """The dev scores of a seed, one after each epoch, and whether its run collapsed."""

    seed: int
    scores: tuple[float, ...]
    collapsed: bool


@dataclass(frozen=True)
class SeedStudy:
    """The curves of all trained seeds, and the failures of the others."""

    curves: tuple[SeedCurve, ...]
    failures: tuple[Failure, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: a row for each epoch, with mean and standard deviation over seeds, and best
        epochs.
        """
        return {
            "seeds": [one.seed for one in self.curves],
            "collapsed": [one.seed for one in self.curves if one.collapsed],
            "best_epoch": [1 + one.scores.index(max(one.scores)) for one in self.curves],
            "rows": summarize_epochs(self.curves),
            "failures": [vars(failure) for failure in self.failures],
        }


def summarize_epochs(curves: Sequence[SeedCurve]) -> list[dict[str, Any]]:
    """Return a row for each epoch: the score of each seed (None after it stopped early), and the mean
    and standard deviation of the others.

    Example: seeds .2 .6 and .4 → epoch 1: mean .3, n 2; epoch 2: mean .6, n 1.
    """
    rows = []
    for epoch in range(max((len(one.scores) for one in curves), default=0)):
        scores = [one.scores[epoch] if epoch < len(one.scores) else None for one in curves]
        known = [score for score in scores if score is not None]
        summary = summarize_seeds(known)
        rows.append(
            {
                "epoch": epoch + 1,
                "scores": scores,
                "n": len(known),
                "mean": summary.mean,
                "sd": summary.sd,
            }
        )
    return rows


def run_seed_study(
    maker: TrialMaker, root: Path, pool: Pool, progress: Progress = silent
) -> SeedStudy:
    """Train every seed with the same settings, and read the dev scores; `root` is the folder."""
    cells = tuple(
        Cell("model", "", maker.task_name, seed, step)
        for seed, step in zip(maker.seeds, maker.make_cells({}), strict=True)
    )
    outcome = run_grid(Grid(maker.study, {}, cells), root, pool, progress)
    curves = tuple(
        SeedCurve(cell.seed, read_dev_scores(cell.step, root), is_collapsed(cell.step, root))
        for cell in cells
        if cell.step.is_whole(root)
    )
    return SeedStudy(curves, outcome.failures)
