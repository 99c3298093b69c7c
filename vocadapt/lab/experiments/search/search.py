"""The search: Optuna proposes settings, cells of a study compute their dev scores.

The folder of a search is like that of a study, so its cells resume and equal cells are trained
once. It also has Optuna's journal, so the same command continues where it stopped.
"""

import json
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.lab.experiments.search.results import STATES, Trial
from vocadapt.lab.experiments.search.space import Range, Space
from vocadapt.lab.experiments.search.trials import TrialMaker, read_dev_score
from vocadapt.lab.experiments.studies.cell_step import CellStep
from vocadapt.lab.experiments.studies.pools import Pool
from vocadapt.lab.experiments.studies.runner import Schedule, is_collapsed, run_steps
from vocadapt.lab.jobs.queue import remove_remains
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.progress import Progress, silent
from vocadapt.training.scoring.summary import summarize_seeds

if TYPE_CHECKING:
    from optuna import Study
    from optuna import Trial as OptunaTrial
    from optuna.samplers import BaseSampler

JOURNAL = "optuna.log"
FIRST_TRIALS = 5  # completed trials before others are compared with their median
FIRST_SEEDS = 2  # seeds of a trial before it may be pruned
MIN_TRIALS_FOR_IMPORTANCE = 4  # completed trials
IMPORTANCE_BY = "fANOVA"
# Attributes in the journal; INTERRUPTED: numbers of killed trials, which others replace.
SEEDS, INTERRUPTED = "seeds", "interrupted"
VALUES, COLLAPSED, PROBLEM = "values", "collapsed", "problem"
JOURNAL_STATES = {"RUNNING": "running", "COMPLETE": "done", "PRUNED": "pruned", "FAIL": "failed"}


@dataclass(frozen=True)
class SearchResult:
    """All trials that have ended, and the importance of each setting; empty if too few trials are
    done, or if all have the same score.
    """

    trials: tuple[Trial, ...]
    importance: dict[str, float]

    @property
    def best(self) -> Trial | None:
        """The trial with the best mean on dev, the first one of equals; None if none is done."""
        done = [trial for trial in self.trials if trial.state == "done"]
        return max(done, key=lambda trial: mean(trial.values), default=None)

    def count(self, state: str) -> int:
        """Return the number of trials in a state."""
        return sum(trial.state == state for trial in self.trials)


@dataclass(eq=False)
class _RunningTrial:
    """A trial that is running: its cells, one for each seed, and the scores so far."""

    trial: "OptunaTrial"
    cells: Sequence[CellStep]
    values: list[float] = field(default_factory=list)
    collapsed: int = 0

    @property
    def cell(self) -> CellStep:
        """The cell that it waits for."""
        return self.cells[len(self.values)]


def import_optuna() -> Any:
    """Return the module optuna; raise InputError if it is not installed."""
    try:
        import optuna
    except ImportError:
        raise InputError(
            "Optuna is not installed.",
            "Install the extra search: pip install 'vocadapt[search]'.",
            code="no-optuna",
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def run_search(
    maker: TrialMaker,
    space: Space,
    trials: int,
    root: Path,
    pool: Pool,
    seed: int = 0,
    prunes: bool = True,
    progress: Progress = silent,
) -> SearchResult:
    """Run a search until `trials` trials have ended; `root` is its folder.

    seed: of the sampler; with a pool of one worker the same seed proposes the same trials, also
    after an interruption. Seeds of a trial run one after the other, several trials at once. Raises
    Canceled if the progress is canceled; the pool is closed in any case.

    1. Open the journal; enqueue the trials again that were running when an earlier run was killed.
    2. Run cells as those of a study. Whenever some have ended, each trial gets its next seed, or
       ends, and new trials are proposed while there is room.
    """
    # 1. The journal. Its trials are those of this model, task, space and seeds.
    remove_remains(Workspace(root))
    study = open_journal(maker, space, root, seed, prunes)
    _enqueue_interrupted(study)
    distributions = build_distributions(space)

    # 2. The cells. Two trials of equal settings share theirs.
    schedule = Schedule(deque())
    active: list[_RunningTrial] = []

    def propose() -> None:
        active[:] = [one for one in active if not _advance(one, study, schedule, root)]
        while len(active) < pool.capacity and (number := len(_list_trials(study))) < trials:
            study.sampler = _build_sampler(seed, number)
            trial = study.ask(distributions)
            started = _RunningTrial(trial, maker.make_cells(trial.params))
            if not _advance(started, study, schedule, root):
                active.append(started)
        for one in active:
            if not schedule.will_make(one.cell.name):
                schedule.waiting.append(one.cell)

    report = partial(_report, study, trials, progress)
    run_steps(schedule, root, pool, maker.study.retries, report, propose)
    ended = tuple(one for one in read_trials(study) if one.state in STATES)
    return SearchResult(ended, compute_importance(study))


@contextmanager
def convert_journal_errors(root: Path) -> Iterator[None]:
    """Convert what Optuna raises for a damaged journal into an InputError."""
    try:
        yield
    except (OSError, ValueError, TypeError, LookupError, AttributeError, AssertionError) as error:
        raise InputError(
            f"{JOURNAL} of the search {root.name} cannot be read: it is damaged.",
            "Start a new search; finished cells of this one stay in its folder.",
            code="damaged-journal",
        ) from error


def open_journal(maker: TrialMaker, space: Space, root: Path, seed: int, prunes: bool) -> "Study":
    """Open the journal of a search in its folder.

    The name of its study in the journal is a digest of model, task, space and seeds: after a change
    of these the trials start again, and reuse the cells that are the same.
    """
    optuna = import_optuna()
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock, JournalStorage

    cells = [cell.digest for cell in maker.make_cells({})]
    content = json.dumps([cells, space.to_dict(), seed, prunes], sort_keys=True)
    path = str(root / JOURNAL)
    # This process has locked the folder, so a lock of the journal was left by a killed run.
    with suppress(FileNotFoundError):
        Path(f"{path}.lock").unlink()
    pruner: Any = optuna.pruners.NopPruner()
    if prunes:
        pruner = optuna.pruners.MedianPruner(FIRST_TRIALS, FIRST_SEEDS)
    with convert_journal_errors(root):
        study: Study = optuna.create_study(
            storage=JournalStorage(JournalFileBackend(path, JournalFileOpenLock(path))),
            study_name=blake2b(content.encode(), digest_size=8).hexdigest(),
            direction="maximize",
            pruner=pruner,
            load_if_exists=True,
        )
        study.set_user_attr(SEEDS, list(maker.seeds))
    return study


def build_distributions(space: Space) -> dict[str, Any]:
    """Return key → Optuna's distribution of the values of a setting."""
    optuna = import_optuna()
    found: dict[str, Any] = {}
    for key, values in space.axes.items():
        if not isinstance(values, Range):
            found[key] = optuna.distributions.CategoricalDistribution(values)
        elif isinstance(values.low, int):
            step = int(values.step) or 1
            found[key] = optuna.distributions.IntDistribution(
                int(values.low), int(values.high), values.log, step
            )
        else:
            found[key] = optuna.distributions.FloatDistribution(
                values.low, values.high, values.log, values.step or None
            )
    return found


def read_trials(study: "Study") -> list[Trial]:
    """Return the trials of a journal, those that are running included."""
    found = []
    for number, trial in enumerate(_list_trials(study), start=1):
        values = tuple(trial.user_attrs.get(VALUES, ()))
        summary = summarize_seeds(values) if values else None
        found.append(
            Trial(
                trial=number,
                state=JOURNAL_STATES[trial.state.name],
                settings=dict(trial.params),
                n=len(values),
                mean=summary.mean if summary else None,
                sd=summary.sd if summary else None,
                seeds=tuple(study.user_attrs.get(SEEDS, ())[: len(values)]),
                values=values,
                collapsed=trial.user_attrs.get(COLLAPSED, 0),
                problem=trial.user_attrs.get(PROBLEM, ""),
            )
        )
    return found


def read_journal(root: Path) -> list[Trial]:
    """Return the trials of the search in a folder, those that are running included: of the newest
    space, if it was changed. The journal is only read.

    Raises InputError if Optuna is not installed or the journal cannot be read.
    """
    optuna = import_optuna()
    from optuna.storages.journal import JournalFileBackend, JournalStorage

    if not (root / JOURNAL).is_file():
        return []
    with convert_journal_errors(root):
        storage = JournalStorage(JournalFileBackend(str(root / JOURNAL)))
        names = optuna.get_all_study_names(storage)
        if not names:
            return []
        return read_trials(optuna.load_study(study_name=names[-1], storage=storage))


def compute_importance(study: "Study") -> dict[str, float]:
    """Return key → importance of a setting, the largest first: the fraction of the variance of the
    scores that it explains, by fANOVA (Hutter et al. 2014); they sum to 1.

    Only trials that are done count. Empty if there are fewer than MIN_TRIALS_FOR_IMPORTANCE, or if
    all have the same score.
    """
    optuna = import_optuna()
    done = study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
    if len(done) < MIN_TRIALS_FOR_IMPORTANCE or len({trial.value for trial in done}) < 2:
        return {}
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {key: float(value) for key, value in found.items()}


def _enqueue_interrupted(study: "Study") -> None:
    """Enqueue the trials again that were running when an earlier process was killed."""
    optuna = import_optuna()
    for trial in study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):
        replaced = study.user_attrs.get(INTERRUPTED, [])
        study.set_user_attr(INTERRUPTED, [*replaced, trial.number])
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
        study.enqueue_trial(trial.params)


def _list_trials(study: "Study") -> list[Any]:
    """Return the proposed trials in order, without those that another one replaces."""
    replaced = study.user_attrs.get(INTERRUPTED, [])
    return [
        trial
        for trial in study.get_trials(deepcopy=False)
        if trial.number not in replaced and trial.state.name != "WAITING"
    ]


def _build_sampler(seed: int, number: int) -> "BaseSampler":
    """Return the sampler that proposes a trial: its randomness depends on the number alone, so an
    interrupted search proposes what an uninterrupted one does.
    """
    import numpy as np

    state = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    sampler: BaseSampler = import_optuna().samplers.TPESampler(seed=state)
    return sampler


def _advance(one: _RunningTrial, study: "Study", schedule: Schedule, root: Path) -> bool:
    """Record the cells of a trial that have ended; return whether the trial has ended."""
    states = import_optuna().trial.TrialState
    while True:
        # 1. A cell that failed after all its attempts fails the trial.
        if failure := schedule.failures.get(one.cell.name):
            one.trial.set_user_attr(PROBLEM, failure.problem)
            study.tell(one.trial, state=states.FAIL)
            return True
        if not one.cell.is_whole(root):
            return False

        # 2. The score of a trial is the mean over its seeds so far.
        one.collapsed += is_collapsed(one.cell, root)
        one.values.append(read_dev_score(one.cell, root))
        one.trial.set_user_attr(VALUES, one.values)
        one.trial.set_user_attr(COLLAPSED, one.collapsed)
        one.trial.report(mean(one.values), len(one.values))
        if len(one.values) == len(one.cells):
            study.tell(one.trial, mean(one.values))
            return True
        if one.trial.should_prune():
            study.tell(one.trial, state=states.PRUNED)
            return True


def _report(study: "Study", trials: int, progress: Progress) -> None:
    """Report how many trials have ended, and the best score so far."""
    ended = [trial for trial in _list_trials(study) if trial.state.is_finished()]
    done = [trial.value for trial in ended if trial.state.name == "COMPLETE"]
    text = f"{len(ended):,} of {trials:,} trials"
    if done:
        text += f", best {max(done):.4f} on dev"
    progress(min(1.0, len(ended) / trials), text)  # an earlier run may have tried more
