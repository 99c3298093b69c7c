"""The steps that search hyperparameters of fine-tuning and that compare seeds: both fill a folder
of cells over several runs, as a study does, and read dev scores only.
"""

import html
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.lab.experiments.search.results import SearchNumbers, SeedsNumbers
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.finetune import STEP as FINETUNE
from vocadapt.lab.steps.finetune import FinetuneStep, find_finetune_guards
from vocadapt.lab.steps.guards import Guard, build_minutes_guard, nest_change
from vocadapt.lab.steps.step import MODEL, PlannedStep, Role, Spec, Step, StepContext
from vocadapt.settings import MAX_SEED, CheckedSettings, setting, show_only

if TYPE_CHECKING:
    from vocadapt.lab.experiments.search.search import SearchResult
    from vocadapt.lab.experiments.search.space import Space
    from vocadapt.lab.experiments.search.trials import TrialMaker
    from vocadapt.lab.experiments.studies.pools import Pool

FIGURES = "figures.html"
PLACE = ("on", "workers", "gpus")  # settings of StudyStep that a search uses
# Settings of a fine-tuning that are the same in all trials and can be chosen.
BASE = ("finetune", "tokenization", "kind", "scorer", "fold", "limit", "unit")
OPTIMISTIC = (
    "The best of many settings looks better on dev than it is: train it with other seeds before you"
    " report a score. Test scores were not used."
)


@dataclass(frozen=True)
class SearchStep(CheckedSettings):
    """Settings of a search: number of trials, their seeds, and where they run.

    `training`: values of the settings that are not searched. `fixed`: settings of the space that
    are not searched.
    """

    trials: int = setting(6, "number of trials, each with different settings", low=1, high=100_000)
    seeds: tuple[int, ...] = setting(
        (),
        "random seeds of each trial, whose score is their mean",
        high=MAX_SEED,
        empty="those of the space file, or one",
    )
    fixed: tuple[str, ...] = setting(
        (), "settings of the space that are not searched, such as num_epochs"
    )
    prune: bool = setting(True, "train all seeds of every trial, even if its first scores are low")
    search_seed: int = setting(
        0,
        "random seed of the search; with one worker, the same seed gives the same trials",
        high=MAX_SEED,
    )
    training: FinetuneStep = field(default_factory=FinetuneStep, metadata=show_only(*BASE))
    place: StudyStep = field(default_factory=StudyStep, metadata=show_only(*PLACE))


@dataclass(frozen=True)
class SeedsStep(CheckedSettings):
    """Settings of a seed study: the seeds, the training, and where it runs."""

    seeds: tuple[int, ...] = setting((1, 2, 3, 4, 5), "random seeds, one run each", high=MAX_SEED)
    training: FinetuneStep = field(default_factory=FinetuneStep, metadata=show_only(*BASE))
    place: StudyStep = field(default_factory=StudyStep, metadata=show_only(*PLACE))


def search_settings(context: StepContext, settings: SearchStep) -> SearchNumbers:
    """Search hyperparameters of fine-tuning by their dev score, averaged over seeds."""
    from vocadapt.analysis.figures.search import plot_importance, plot_trials
    from vocadapt.lab.experiments.search.search import import_optuna, run_search
    from vocadapt.lab.experiments.search.tables import build_marks
    from vocadapt.lab.experiments.search.trials import prepare_trials

    # 1. What is searched.
    import_optuna()
    context.progress(0.0, "reading the space and the task")
    space = read_searched_space(context.spec, settings)
    seeds = choose_seeds(context.spec, settings, space)
    maker = prepare_trials(context.spec.inputs, settings.training, seeds)

    # 2. The trials.
    pool = open_search_pool(settings.place, maker, context.draft)
    result = run_search(
        maker,
        space,
        settings.trials,
        context.draft,
        pool,
        settings.search_seed,
        settings.prune,
        context.progress,
    )

    # 3. The figures, and the summary.
    marks = build_marks([asdict(one) for one in result.trials])
    figures = [("Score by trial", plot_trials(marks, maker.metric))]
    if result.importance:
        figures.insert(0, ("Importance of each setting", plot_importance(result.importance)))
    write_figures(context.draft / FIGURES, f"Search on {maker.task_name}", figures)
    return summarize_search(result, maker, space, context.draft)


def summarize_search(
    result: "SearchResult", maker: "TrialMaker", space: "Space", root: Path
) -> SearchNumbers:
    """Return what a search answers; `root` is its folder."""
    from vocadapt.lab.experiments.search.search import IMPORTANCE_BY
    from vocadapt.lab.experiments.search.space import SEEDS, find_published_choices

    command = ""
    if result.best is not None:
        best = maker.make_cells(result.best.settings)[0].spec
        chosen = replace(best.settings, seeds=maker.seeds, weights=True)
        command = build_command(replace(best, settings=chosen), root / "runs" / "best")
    return {
        "task": maker.task_name,
        "metric": maker.metric,
        "trials": len(result.trials),
        "done": result.count("done"),
        "pruned": result.count("pruned"),
        "failed": result.count("failed"),
        "settings": len({repr(sorted(one.settings.items())) for one in result.trials}),
        "combinations": space.combinations,
        "space": space.to_dict(),
        "space_source": space.source,
        "seeds": list(maker.seeds),
        "best": result.best,
        "importance": result.importance,
        "importance_by": IMPORTANCE_BY,
        "command": command,
        "thesis": "Fast 2023 searched the seed as well, and chose"
        f" {find_published_choices()[SEEDS]} (table 6.1); here every trial is averaged over its"
        f" seeds ({len(maker.seeds)}), and none is chosen.",
        "note": OPTIMISTIC,
        "rows": list(result.trials),
    }


def compare_seeds(context: StepContext, settings: SeedsStep) -> SeedsNumbers:
    """Train every seed with the same settings; the result is the dev score after each epoch."""
    from vocadapt.analysis.figures.training import plot_dev_scores
    from vocadapt.lab.experiments.search.tables import list_curves
    from vocadapt.lab.experiments.search.trials import prepare_trials, run_seed_study

    seeds = tuple(dict.fromkeys(settings.seeds))
    maker = prepare_trials(context.spec.inputs, settings.training, seeds)
    pool = open_search_pool(settings.place, maker, context.draft)
    numbers = run_seed_study(maker, context.draft, pool, context.progress)
    figures = []
    if curves := list_curves({**numbers, "rows": [asdict(row) for row in numbers["rows"]]}):
        figures.append(("Dev score by epoch and seed", plot_dev_scores(curves, maker.metric, 360)))
    write_figures(context.draft / FIGURES, f"Seeds on {maker.task_name}", figures)
    return numbers


def find_search_guards(planned: PlannedStep) -> Iterator[Guard]:
    """Yield what to know before a search or a comparison of seeds starts: the guards of its
    trainings, and the time of all.
    """
    from vocadapt.lab.experiments.search.estimates import estimate_search, find_quick_search
    from vocadapt.lab.experiments.search.trials import prepare_trials
    from vocadapt.lab.experiments.studies.places import count_workers

    # 1. The guards of one training.
    settings = planned.spec.settings
    space = None
    seeds = settings.seeds
    trials = 1
    fewest = 1
    if isinstance(settings, SearchStep):
        space = read_searched_space(planned.spec, settings)
        seeds = choose_seeds(planned.spec, settings, space)
        trials = settings.trials
        fewest = SearchStep().trials
    inputs = planned.spec.inputs
    maker = prepare_trials(inputs, settings.training, seeds, planned.spec.offline)
    for guard in find_finetune_guards(maker.spec.plan(planned.root)):
        if guard.code != "minutes":
            yield replace(guard, change=nest_change(guard.change, "training"))

    # 2. The time of all trainings.
    workers = count_workers(settings.place.workers, maker.study)
    cost = estimate_search(maker, space, trials, workers, planned.root)
    yield build_minutes_guard(cost.forecast, find_quick_search(maker, space, fewest, workers))


def read_searched_space(spec: Spec, settings: SearchStep) -> "Space":
    """Return the space of a search, without the settings that are not searched."""
    from vocadapt.lab.experiments.search.space import build_thesis_space, read_space

    file = spec.one("search_space")
    space = read_space(Path(file)) if file else build_thesis_space()
    return space.without(settings.fixed)


def choose_seeds(spec: Spec, settings: SearchStep, space: "Space") -> tuple[int, ...]:
    """Return the seeds of each trial: those that are given, else those of the space file; without
    one, the first of the published space, so that a search ends within minutes.
    """
    if settings.seeds:
        return tuple(dict.fromkeys(settings.seeds))
    if spec.one("search_space"):
        return space.seeds
    return space.seeds[:1]


def open_search_pool(place: StudyStep, maker: "TrialMaker", root: Path) -> "Pool":
    """Open the pool that trains the cells of a search, whose folder is `root`.

    Raises InputError for a place that is unknown or runs nothing, and for a cluster that cannot be
    used.
    """
    from vocadapt.lab.experiments.studies.places import open_pool

    if place.on == "slurm":
        raise InputError(
            "A search and a comparison of seeds train their cells themselves, which an array script"
            " does not.",
            "Choose local or ray; in a SLURM job, local uses the cores of its node.",
            "on",
        )
    return open_pool(place.on, place.workers, place.gpus, maker.study, root)


def write_figures(path: Path, title: str, figures: Sequence[tuple[str, Any]]) -> None:
    """Write figures with their titles to one self-contained HTML file."""
    title = html.escape(title)
    parts = [f'<!doctype html><meta charset="utf-8"><title>{title}</title><h1>{title}</h1>']
    for number, (heading, figure) in enumerate(figures):
        body = figure.to_html(full_html=False, include_plotlyjs=number == 0)
        parts.append(f"<h2>{html.escape(heading)}</h2>{body}")
    path.write_text("\n".join(parts), encoding="utf-8")


TASK_ROLES = FINETUNE.takes
SEARCH = Step(
    "search",
    "Search hyperparameters",
    SearchStep,
    search_settings,
    makes="searches",
    needs=(MODEL,),
    takes=(*TASK_ROLES, Role("search_space", "--space", "Search space")),
    seed="search_seed",
    command=("search",),
    grows=True,
    start_up=8.0,
    guards=find_search_guards,
)
SEEDS = Step(
    "seeds",
    "Compare seeds by epoch",
    SeedsStep,
    compare_seeds,
    makes="searches",
    needs=(MODEL,),
    takes=TASK_ROLES,
    command=("search", "seeds"),
    grows=True,
    start_up=8.0,
    guards=find_search_guards,
)
