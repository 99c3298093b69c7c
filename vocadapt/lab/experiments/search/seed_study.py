"""The dev score after each epoch, for each seed (Fast 2023, figure 6.1)."""

from collections.abc import Sequence
from pathlib import Path

from vocadapt.lab.experiments.search.results import EpochScores, SeedsNumbers
from vocadapt.lab.experiments.search.trials import TrialMaker, read_dev_scores
from vocadapt.lab.experiments.studies.pools import Pool
from vocadapt.lab.experiments.studies.runner import is_collapsed, run_grid
from vocadapt.progress import Progress, silent
from vocadapt.training.scoring.summary import summarize_seeds


def summarize_epochs(curves: Sequence[Sequence[float]]) -> list[EpochScores]:
    """Return the scores after each epoch. curves: of each seed, a score for each epoch.

    Example: seeds .2 .6 and .4 → epoch 1: mean .3, n 2; epoch 2: mean .6, n 1.
    """
    rows = []
    for epoch in range(max(map(len, curves), default=0)):
        scores = tuple(curve[epoch] if epoch < len(curve) else None for curve in curves)
        known = [score for score in scores if score is not None]
        summary = summarize_seeds(known)
        rows.append(EpochScores(epoch + 1, scores, len(known), summary.mean, summary.sd))
    return rows


def run_seed_study(
    maker: TrialMaker, root: Path, pool: Pool, progress: Progress = silent
) -> SeedsNumbers:
    """Train every seed with the same settings, and read the dev scores; `root` is the folder."""
    grid = maker.build_grid([{}])
    outcome = run_grid(grid, root, pool, progress)
    whole = [cell for cell in grid.cells if cell.step.is_whole(root)]
    curves = [read_dev_scores(cell.step, root) for cell in whole]
    return {
        "task": maker.task_name,
        "metric": maker.metric,
        "seeds": [cell.seed for cell in whole],
        "collapsed": [cell.seed for cell in whole if is_collapsed(cell.step, root)],
        "best_epoch": [1 + curve.index(max(curve)) for curve in curves],
        "rows": summarize_epochs(curves),
        "failures": [vars(failure) for failure in outcome.failures],
    }
