"""The trials of a search, whose score is the mean over seeds on dev, and the comparison of seeds by
epoch (Fast 2023, figure 6.1); both are cells of a study, one for each seed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.given_settings import Given
from vocadapt.lab.experiments.search.results import EpochScores, SeedsNumbers
from vocadapt.lab.experiments.search.space import apply_settings
from vocadapt.lab.experiments.studies.cell_step import CellStep, Stamps
from vocadapt.lab.experiments.studies.grid import Cell, Grid, identify_training
from vocadapt.lab.experiments.studies.pools import Pool
from vocadapt.lab.experiments.studies.runner import is_collapsed, run_grid
from vocadapt.lab.experiments.studies.study_file import Study, StudyTask, Variant
from vocadapt.lab.steps.finetune import ALL_FOLDS, FinetuneStep, limit_task, load_task
from vocadapt.lab.steps.step import Spec
from vocadapt.models.model_folder import name_of
from vocadapt.progress import Progress, silent
from vocadapt.training.finetune.run_files import load_runs
from vocadapt.training.scoring.summary import summarize_seeds
from vocadapt.training.tasks.splits import SPLITS

THREADS = 1  # of a cell, as in a study


@dataclass(frozen=True)
class TrialMaker:
    """Makes the cells of trials: one model on one task, with settings that differ.

    `spec`: of a fine-tuning with the settings that are not searched. `metric`: name of the score.
    """

    spec: Spec
    seeds: tuple[int, ...]
    task_name: str
    metric: str
    stamps: Stamps

    def make_cells(self, given: Given) -> tuple[CellStep, ...]:
        """Return the steps of a trial with the given settings, one for each seed."""
        settings = apply_settings(self.spec.settings, given)
        names = (name_of(Path(self.spec.inputs["model"][0])), self.task_name)
        training = identify_training(
            names, replace(self.spec, settings=settings), self.stamps, THREADS
        )
        return tuple(training.build_step(seed) for seed in self.seeds)

    def build_grid(self, trials: Sequence[Given]) -> Grid:
        """Return the grid of trials with the given settings: a row for each."""
        cells = [
            Cell(f"trial {number}", "", self.task_name, seed, step)
            for number, given in enumerate(trials, start=1)
            for seed, step in zip(self.seeds, self.make_cells(given), strict=True)
        ]
        return Grid(self.study, {}, tuple(cells))

    @property
    def study(self) -> Study:
        """The study of the base settings: what a pool is opened for."""
        inputs = {role: paths[0] for role, paths in self.spec.inputs.items() if role != "model"}
        model = self.spec.inputs["model"][0]
        task = StudyTask(self.task_name, inputs, self.spec.settings.kind)
        return Study("search", (Variant("model", model),), (task,), self.seeds, threads=THREADS)


def prepare_trials(
    inputs: Mapping[str, tuple[str, ...]],
    base: FinetuneStep,
    seeds: tuple[int, ...],
    offline: bool = False,
) -> TrialMaker:
    """Check model and task, and return the maker of trials.

    inputs: of the search. offline: whether nothing may be downloaded. Raises InputError if
    the task has no dev split with labels, because test scores are never used.
    """
    if base.finetune.with_dev:
        raise InputError(
            "A search compares scores on the dev split, so it cannot be trained on.",
            "Search without training on dev.",
            "with_dev",
            "not-searched",
        )
    if base.fold == ALL_FOLDS:
        raise InputError("A search runs on one fold.", "Choose one, such as 1.", "fold")
    own = {role: inputs[role] for role in ("model", "task", *SPLITS) if role in inputs}
    spec = Spec(replace(base, weights=False), own, offline=offline).absolute()
    task = limit_task(load_task(spec, spec.settings), spec.settings.limit)[0]
    dev = task.splits.get("dev")
    if dev is None or not dev.labeled:
        raise InputError(
            f"{task.name} has no dev split with labels, and a search compares dev scores only.",
            "Give dev examples, for example some of the training examples, which are then not"
            " trained on. Do not use test examples.",
            "dev",
            "no-dev-split",
        )
    return TrialMaker(spec, seeds, task.name, task.scorer.headline, Stamps(None, offline or None))


def read_dev_scores(step: CellStep, root: Path) -> tuple[float, ...]:
    """Return the dev score of a finished cell after each epoch."""
    (run,) = load_runs(step.find_folder(root))
    return tuple(run.record["dev"])


def read_dev_score(step: CellStep, root: Path) -> float:
    """Return the dev score of a finished cell: that of its best epoch, whose weights are kept."""
    return max(read_dev_scores(step, root))


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
    """Train every seed with the same settings, and read the dev scores; root: study folder."""
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
