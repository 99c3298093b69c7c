"""The step that fine-tunes a model: one run per seed (and fold), and their summary."""

import os
import resource
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.steps.forecasts import learn_rate
from vocadapt.lab.steps.guards import Guard, build_minutes_guard
from vocadapt.lab.steps.step import MODEL, PlannedStep, Role, Spec, Step, StepContext, measure_model
from vocadapt.lab.steps.task_guards import find_repair, list_task_guards
from vocadapt.progress import part
from vocadapt.report.formats import format_metric_name
from vocadapt.report.table import Column, Table
from vocadapt.settings import MAX_SEED, CheckedSettings, setting
from vocadapt.system.forecasts import Work
from vocadapt.text.display import format_number
from vocadapt.training.callbacks import Live, read_live
from vocadapt.training.estimates import measure_finetuning
from vocadapt.training.examples.examples import UNITS, Split, name_fold, sample_split, without_fold
from vocadapt.training.finetune.finetune import PreparedTask, finetune, prepare
from vocadapt.training.finetune.run_files import (
    SavedRun,
    load_run,
    name_run,
    name_run_folder,
    save_run,
)
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.finetune.tokenizations import TOKENIZATIONS, choose_main_tokenization
from vocadapt.training.scoring.summary import summarize_seeds
from vocadapt.training.tasks.kinds import find_kind
from vocadapt.training.tasks.splits import SPLITS
from vocadapt.training.tasks.task import TASK, Task, build_task, read_task, read_task_file
from vocadapt.training.tasks.training_sample import sample_training_split
from vocadapt.training.trained_parameters import describe_old_embeddings

ALL_FOLDS = -1  # as the fold of a FinetuneStep
MEAN = Column("mean", beside="sd", format="fraction")
FINISHED = "run"  # in the checkpoint folder of a seed: its run, where it is done


@dataclass(frozen=True)
class FinetuneStep(CheckedSettings):
    """How a model is fine-tuned, under which tokenization and seeds.

    `kind` and `unit` apply to single files (train, dev, test) in place of a task file.
    """

    finetune: FinetuneSettings = field(default_factory=FinetuneSettings)
    tokenization: str = setting(
        "",
        "tokenization of the training examples",
        choices=TOKENIZATIONS,
        empty="mixed; base if the model was not adapted",
    )
    seeds: tuple[int, ...] = setting((1,), "random seeds, one run each", high=MAX_SEED)
    kind: str = setting(
        "", "kind of task of single files", label="Kind of task", flag="--task", empty="the task's"
    )
    scorer: str = setting("", "scorer to use instead of the task's")
    fold: int = setting(
        0,
        "fold of a k-fold task, 1 being the first, or all",
        low=ALL_FOLDS,
        high=1_000,
        words={"all": ALL_FOLDS},
    )
    limit: int = setting(
        0,
        "maximum number of examples per split, drawn at random, the same for every seed; of the"
        " training examples, more with rare labels",
        empty="all",
    )
    unit: str = setting(
        "",
        "unit of multilabel examples: example, or document to join all sentences of a document",
        choices=UNITS,
        flag="--example-unit",
        empty="the task's",
    )
    weights: bool = setting(
        True,
        "do not keep the fine-tuned network, only its predictions: it cannot predict on other text",
        label="Keep the network",
    )


@dataclass(frozen=True, kw_only=True)
class SeedScores:
    """A run: its scores by tokenization, and whether it never left the majority baseline.

    fold: None unless several folds were run.
    """

    seed: int
    scores: Mapping[str, Mapping[str, float]]
    collapsed: bool
    fold: int | None = None
    findings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The seed, and the fold if there are several."""
        return name_fold(str(self.seed), self.fold or 0)


@dataclass(frozen=True, kw_only=True)
class RunNumbers:
    """Scores of runs: figures of the main `tokenization`, mean and sd over seeds, and each run by
    itself. Without labels there are no figures.

    mean_learned: without the collapsed runs; None if none collapsed.
    """

    task: str
    metric: str = ""
    scorer: str = ""
    tokenization: str = ""
    definition: str = ""
    classes: str = ""
    seeds: tuple[SeedScores, ...]
    mean: Mapping[str, float] = field(default_factory=dict)
    sd: Mapping[str, float | None] = field(default_factory=dict)
    mean_learned: Mapping[str, float | None] | None = None
    collapsed: int
    findings: tuple[str, ...] = ()

    def build_table(self) -> Table:
        """Return the scores of each run and tokenization as a table, with the mean in a note."""
        rows = [
            {
                "seed": one.name,
                "tokenization": tokenization,
                **values,
                "state": "collapsed" if one.collapsed else "",
            }
            for one in self.seeds
            for tokenization, values in one.scores.items()
        ]
        columns = (
            Column("seed", "Seed", format="figure"),
            Column("tokenization", "Tokenization"),
            *(Column(name, format_metric_name(name), format="fraction") for name in self.mean),
            Column("state", "State"),
        )
        return Table("", columns, rows, tuple(self._describe_means()))

    def _describe_means(self) -> Iterator[str]:
        """Yield the means over the runs, and those of the runs that did not collapse."""
        folds = len({one.fold for one in self.seeds})
        seeds = len({one.seed for one in self.seeds})
        runs = f"{seeds} seed{'s' * (seeds > 1)}"
        others = "the others"
        if folds > 1:
            runs = f"{runs}, each the mean over {folds} folds"
            others = "the seeds without one"
        # A single run has no standard deviation, and its scores are in the table.
        if len(self.seeds) > 1 and self.mean:
            yield f"{_format_means(self.mean, self.sd)} ({self.tokenization}, {runs})"
        # Collapsed runs do not compare tokenizations, so the mean of the others is added.
        if self.mean_learned:
            collapsed = f"{self.collapsed} of {len(self.seeds)} runs collapsed"
            yield f"{collapsed}; mean of {others}: {_format_means(self.mean_learned, {})}"


def _format_means(means: Mapping[str, float | None], deviations: Mapping[str, float | None]) -> str:
    """Format figures with their standard deviations: precision .800 ± .010; F1 .812 ± .008."""
    return "; ".join(
        f"{format_metric_name(name)} {MEAN.write({'mean': value, 'sd': deviations.get(name)})}"
        for name, value in means.items()
    )


@dataclass(frozen=True, kw_only=True)
class FinetuneNumbers(RunNumbers):
    """Scores of the fine-tuned runs, and figures of the training; sizes in bytes.

    old_embeddings: how many of the old embeddings are bit-equal, if only new ones were trained.
    peak_memory: None if the system does not report it. again: settings to try, if a run collapsed.
    """

    trained_on: str
    trainable: int
    frozen: int
    examples_per_second: float
    optimizer_bytes: int | None = None
    old_embeddings: Mapping[str, int] | None = None
    peak_memory: int | None = None
    again: Mapping[str, Any] | None = None

    def describe_training(self) -> str:
        """Describe the speed of the training, the number of trained parameters and the memory."""
        text = (
            f"{self.task}, {self.scorer or 'not scored'}:"
            f" {format_number(self.examples_per_second)} examples/s,"
            f" {self.trainable:,} of {self.trainable + self.frozen:,} parameters trained"
        )
        if self.optimizer_bytes:
            text += f", optimizer state {self.optimizer_bytes / 2**20:,.1f} MiB"
        if self.peak_memory:
            text += f", peak memory {self.peak_memory / 2**30:.1f} GiB"
        return f"{text}. {describe_old_embeddings(self.old_embeddings)}".rstrip()


def finetune_runs(context: StepContext, settings: FinetuneStep) -> FinetuneNumbers:
    """Fine-tune a model on a task: one run per seed, times all folds if requested.

    A single run is saved in the folder itself, several in seed-1/, seed-2/, … or seed-1-fold-1/, ….
    """
    folds = list_folds(context.spec, settings)
    seeds = list(dict.fromkeys(settings.seeds))
    count = len(folds) * len(seeds)
    runs = list[SavedRun]()
    known = list[tuple[str, ...]]()
    # The examples of a fold are read and encoded once.
    for fold in folds:
        context.progress(len(runs) / count, "reading the examples")
        prepared = _prepare_fold(context, settings, fold, len(folds) > 1)
        known.append(prepared.findings)
        for seed in seeds:
            name = name_run_folder(seed, fold if len(folds) > 1 else 0)
            title, target = "", context.draft
            if count > 1:
                title = f"{name.replace('-', ' ')}, {len(runs) + 1} of {count}"
                target = context.draft / name
            progress = part(context.progress, len(runs) / count, (len(runs) + 1) / count, title)
            runs.append(
                _finetune_seed(prepared, seed, name, target, replace(context, progress=progress))
            )

    numbers = _summarize_trainings(runs, known)
    if not numbers.collapsed:
        return numbers
    # What to try if a run learned nothing.
    first = _read_first_fold(context.spec)
    again = find_repair(first.whole, first.task, settings.finetune, settings.limit)
    return replace(numbers, again=again or None)


def _summarize_trainings(
    runs: Sequence[SavedRun], known: Sequence[tuple[str, ...]]
) -> FinetuneNumbers:
    """Summarize scores and trainings; known: the findings of each fold.

    Findings of all folds are reported once, others with their run.
    """
    scored = summarize_runs(runs, [run.record["scores"] for run in runs])
    shared = tuple(finding for finding in known[0] if all(finding in own for own in known))
    seeds = []
    for entry, run in zip(scored.seeds, runs, strict=True):
        own = tuple(one for one in run.record["findings"] if one not in shared)
        seeds.append(replace(entry, findings=own))
    record = runs[0].record
    unit = 1 if sys.platform == "darwin" else 1024  # bytes
    return FinetuneNumbers(
        **{**vars(scored), "seeds": tuple(seeds), "findings": shared},
        trained_on=record["trained_on"],
        trainable=record["trainable"],
        frozen=record["frozen"],
        examples_per_second=measure_training_speed(runs),
        optimizer_bytes=record.get("optimizer_bytes") or None,
        old_embeddings=record.get("old_embeddings") or None,
        peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
    )


def list_folds(spec: Spec, settings: FinetuneStep) -> list[int]:
    """Return the folds to run: all of a k-fold task, one of them, or 0 for a task without folds."""
    if settings.fold != ALL_FOLDS:
        return [settings.fold]
    folds = 0
    if file := spec.one("task"):
        path = Path(file)
        folds = read_task_file(path / TASK if os.path.isdir(path) else path).folds
    if not folds:
        raise InputError("The task has no folds.", "Choose no fold.")
    return list(range(1, folds + 1))


def _prepare_fold(
    context: StepContext, settings: FinetuneStep, fold: int, one_of_several: bool
) -> PreparedTask:
    given, findings = limit_task(
        load_task(context.spec, replace(settings, fold=fold)), settings.limit
    )
    if one_of_several:
        given = replace(given, name=without_fold(given.name))
    prepared = prepare(context.inputs.model, given, settings.finetune, settings.tokenization)
    return replace(prepared, findings=(*findings, *prepared.findings), fold=fold)


def load_task(spec: Spec, settings: FinetuneStep) -> Task:
    """Load the task of a task.toml or of single files; raises InputError unless one is given."""
    # 1. A kind of task with single files.
    file = spec.one("task")
    kind = settings.kind
    splits = {name: Path(path) for name in SPLITS if (path := spec.one(name))}
    if (file is None) == (not kind):
        problem = "Fine-tuning needs a task, or a kind of task with its files."
        raise InputError(problem, "Give a task, or a kind of task with its files.")
    if file is None:
        if settings.fold:
            raise InputError(
                "Folds belong to a k-fold task, and these are single files.",
                "Choose no fold, or give the task.toml.",
            )
        return build_task(find_kind(kind), splits, settings.scorer, settings.unit or UNITS[0])

    # 2. A task file, which names its files and the unit of its examples itself.
    if splits:
        problem = f"{file} names its own files, and {', '.join(splits)} was given as well."
        raise InputError(problem, "Leave them out, or give a kind of task with all its files.")
    if settings.unit:
        raise InputError(
            f"{file} says what an example of it is.",
            'Put unit = "document" there, and give no unit here.',
            "unit",
        )
    found = read_task(Path(file), settings.fold)
    return replace(found, scorer_name=settings.scorer or found.scorer_name)


@dataclass(frozen=True, eq=False)
class FirstFold:
    """The first fold to run: its task with all examples, and with the limited number of them."""

    whole: Task
    task: Task
    n_folds: int


def _read_first_fold(spec: Spec) -> FirstFold:
    settings: FinetuneStep = spec.settings
    folds = list_folds(spec, settings)
    whole = load_task(spec, replace(settings, fold=folds[0]))
    return FirstFold(whole, limit_task(whole, settings.limit)[0], len(folds))


def find_finetune_guards(planned: PlannedStep) -> Iterator[Guard]:
    """Yield what to know before a fine-tuning starts; of all folds, the first one is read."""
    settings = planned.spec.settings
    first = _read_first_fold(planned.spec)
    yield from list_task_guards(
        planned.inputs.model, first.whole, first.task, settings.finetune, settings.limit
    )
    work = measure_limited_task(planned, first.task, first.n_folds)
    yield build_minutes_guard(learn_rate(planned).forecast(work))


def measure_finetune_work(planned: PlannedStep) -> Work:
    """Return the work of a fine-tuning; of all folds, the first one is read."""
    first = _read_first_fold(planned.spec)
    return measure_limited_task(planned, first.task, first.n_folds)


def measure_limited_task(planned: PlannedStep, task: Task, n_folds: int) -> Work:
    """Return the work of a fine-tuning on a task that is limited already."""
    settings = planned.spec.settings
    return measure_finetuning(
        task,
        settings.finetune,
        settings.tokenization,
        n_folds * len(settings.seeds),
        planned.inputs.model.config,
        planned.threads,
    )


def judge_outcome(numbers: Mapping[str, Any]) -> str:
    """Return "collapsed" if no run learned anything, "1 of 3 collapsed" if some did not."""
    collapsed = numbers.get("collapsed", 0)
    n_runs = len(numbers.get("seeds", ()))
    if not collapsed:
        return ""
    if collapsed == n_runs:
        return "collapsed"
    return f"{collapsed} of {n_runs} collapsed"


def limit_task(task: Task, limit: int) -> tuple[Task, tuple[str, ...]]:
    """Limit each split to a random sample of examples (0: all), the same for every seed; also
    describe it.

    Of the training examples, rare labels are drawn more often (`sample_training_split`); dev and
    test examples never are, because scores on them would be those of another task.
    """
    splits = dict(task.splits)
    findings = list[str]()
    for name, split in task.splits.items():
        if name == "train" and split.labeled:
            sample = sample_training_split(split, task.kind, limit)
            splits[name], finding = sample.split, sample.describe()
        else:
            splits[name] = sample_split(split, limit)
            finding = describe_sample(name, splits[name], split)
        if len(splits[name]) < len(split):
            findings.append(finding)
    return replace(task, splits=splits), tuple(findings)


def describe_sample(name: str, few: Split, all: Split) -> str:
    """Return a note that only some examples of a split are used."""
    return f"{name}: {len(few):,} of {len(all):,} examples, drawn at random."


def summarize_runs(runs: Sequence[SavedRun], scores: Sequence[Mapping[str, Any]]) -> RunNumbers:
    """Summarize runs: scores by tokenization, and mean and sd of the main one over seeds; the
    figure of a seed with several folds is the mean over the folds.
    """
    # 1. Each run by itself, under every tokenization.
    seeds = tuple(
        SeedScores(
            seed=run.seed,
            scores={tokenization: _select_numbers(one) for tokenization, one in own.items()},
            collapsed=bool(run.record.get("collapsed")),
            fold=run.record.get("fold") or None,
        )
        for run, own in zip(runs, scores, strict=True)
    )
    collapsed = find_collapsed_seeds(runs)
    numbers = RunNumbers(
        task=runs[0].record["task"], seeds=seeds, collapsed=sum(one.collapsed for one in seeds)
    )

    # 2. Each figure of the main tokenization over the seeds; there is none without labels.
    first = next(iter(scores), {})
    if not first:
        return numbers
    tokenization = choose_main_tokenization(first)
    named = first[tokenization]
    summaries = {}
    for name in _select_numbers(named):
        values = average_folds(runs, [own[tokenization][name] for own in scores])
        summaries[name] = summarize_seeds(values, collapsed)
    learned = {name: summary.mean_learned for name, summary in summaries.items()}
    return replace(
        numbers,
        metric=named["metric"],
        scorer=named["scorer"],
        tokenization=tokenization,
        definition=named.get("definition", ""),
        classes=named.get("classes", ""),
        mean={name: summary.mean for name, summary in summaries.items()},
        sd={name: summary.sd for name, summary in summaries.items()},
        mean_learned=learned if any(collapsed) else None,
    )


def average_folds(runs: Sequence[SavedRun], values: Sequence[float]) -> tuple[float, ...]:
    """Return the mean of each seed's values over its folds. values: one per run."""
    by_seed: dict[int, list[float]] = {}
    for run, value in zip(runs, values, strict=True):
        by_seed.setdefault(run.seed, []).append(value)
    return tuple(sum(own) / len(own) for own in by_seed.values())


def find_collapsed_seeds(runs: Sequence[SavedRun]) -> tuple[bool, ...]:
    """Return for each seed whether its run, or that of one of its folds, collapsed."""
    collapsed = {run.seed for run in runs if run.record.get("collapsed")}
    return tuple(seed in collapsed for seed in dict.fromkeys(run.seed for run in runs))


def measure_training_speed(runs: Sequence[SavedRun]) -> float:
    """Return the training examples per second, over all runs; 0 if not known.

    Loading and scoring are not counted, except in older runs and those of a single step.
    """
    recorded = [float(run.record.get("training_seconds", 0)) for run in runs]
    if not all(recorded):
        recorded = [run.record.get("seconds", 0) for run in runs]
    seconds = sum(recorded)
    if not seconds:
        return 0.0
    return float(sum(run.record.get("examples", 0) for run in runs) / seconds)


def _select_numbers(score: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a score without its names."""
    return {name: value for name, value in score.items() if isinstance(value, float)}


def _finetune_seed(
    prepared: PreparedTask, seed: int, name: str, target: Path, context: StepContext
) -> SavedRun:
    """Train one seed and fold, or take over the run that a stopped job had finished."""
    if context.checkpoint is None:  # not a job: there is nothing to resume from
        run = finetune(prepared, seed, None, context.progress)
        save_run(run, prepared, target, context.spec.settings.weights)
        return load_run(target)

    # 1. A run that a stopped job had finished is copied.
    checkpoint = context.checkpoint / name
    finished = checkpoint / FINISHED
    if finished.is_dir():
        shutil.copytree(finished, target, dirs_exist_ok=True)
        return load_run(target)

    # 2. Otherwise train, from the checkpoint of this run if there is one.
    checkpoint.mkdir(parents=True, exist_ok=True)
    run = finetune(prepared, seed, checkpoint, context.progress)
    save_run(run, prepared, target, context.spec.settings.weights)

    # 3. Of several runs keep each until all are done: copied whole, then renamed, so that a job
    #    killed meanwhile leaves no half run. Its checkpoints are not needed any more.
    if target != context.draft:
        draft = checkpoint / f"{FINISHED}.part"
        shutil.copytree(target, draft, dirs_exist_ok=True)
        draft.rename(finished)
        for folder in checkpoint.glob("checkpoint-*"):
            shutil.rmtree(folder)
    return load_run(target)


def read_live_runs(checkpoint: Path) -> dict[str, Live]:
    """Read the progress of each training of a job ("seed 1, fold 2"), the latest one last."""
    folders = sorted(checkpoint.glob("seed-*/"), key=lambda path: path.stat().st_mtime_ns)
    return {name_run(folder): read_live(folder) for folder in folders}


def measure_runs(spec: Spec) -> int:
    """Return the bytes of the networks: one for each seed, unless none is kept."""
    if not spec.settings.weights:
        return 0
    return len(spec.settings.seeds) * measure_model(spec)


STEP = Step(
    "finetune",
    "Fine-tune a model",
    FinetuneStep,
    finetune_runs,
    makes="runs",
    needs=(MODEL,),
    takes=(
        Role("task", "--task", "Task", "tasks"),
        Role("train", "--train", "Training examples"),
        Role("dev", "--dev", "Development examples"),
        Role("test", "--test", "Test examples"),
    ),
    libraries=("numpy", "tokenizers", "safetensors", "torch", "transformers"),
    writes=measure_runs,
    command=("finetune",),
    resumes=True,
    start_up=12.0,
    seed="seeds",
    guards=find_finetune_guards,
    work=measure_finetune_work,
    outcome=judge_outcome,
)
