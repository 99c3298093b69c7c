"""The step that fine-tunes a model: one run per seed (and fold), and their summary."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict, cast

from vocadapt.errors import InputError
from vocadapt.lab.steps.forecasts import learn_rate
from vocadapt.lab.steps.guards import Guard, build_minutes_guard
from vocadapt.lab.steps.step import (
    MODEL,
    Numbers,
    PlannedStep,
    Role,
    Spec,
    Step,
    StepContext,
    measure_model,
)
from vocadapt.lab.steps.task_guards import find_repair, list_task_guards
from vocadapt.progress import part
from vocadapt.settings import MAX_SEED, CheckedSettings, setting
from vocadapt.system.forecasts import Work
from vocadapt.training.callbacks import Live, read_live
from vocadapt.training.estimates import measure_finetuning
from vocadapt.training.examples.examples import UNITS, Split, sample_split, without_fold
from vocadapt.training.finetune.finetune import PreparedTask, finetune, prepare
from vocadapt.training.finetune.run_files import (
    SavedRun,
    load_run,
    name_run,
    name_run_folder,
    save_run,
)
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.finetune.tokenizations import (
    TOKENIZATIONS,
    choose_main_tokenization,
)
from vocadapt.training.scoring.summary import summarize_seeds
from vocadapt.training.tasks.kinds import find_kind
from vocadapt.training.tasks.splits import SPLITS
from vocadapt.training.tasks.task import (
    TASK,
    Task,
    build_task,
    read_task,
    read_task_file,
)
from vocadapt.training.tasks.training_sample import sample_training_split

ALL_FOLDS = -1  # as the fold of a FinetuneStep
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


class SeedScores(TypedDict):
    """A run: its scores by tokenization, and whether it never left the majority baseline."""

    seed: int
    scores: Annotated[dict[str, dict[str, float]], "figures by tokenization"]
    collapsed: bool
    fold: NotRequired[int]
    findings: NotRequired[list[str]]


class RunNumbers(TypedDict):
    """Scores of runs: figures of the main `tokenization`, mean and sd over seeds, and each run by
    itself. Without labels there are no figures.
    """

    task: str
    metric: str
    scorer: str
    tokenization: str
    seeds: list[SeedScores]
    mean: dict[str, float]
    sd: dict[str, float | None]
    definition: NotRequired[str]
    classes: NotRequired[str]
    mean_learned: NotRequired[dict[str, float | None]]
    collapsed: int


class OldEmbeddings(TypedDict):
    """How many of the old embeddings are bit-equal after training."""

    of: int
    bit_equal: int


class FinetuneNumbers(RunNumbers):
    """Scores of the fine-tuned runs, and figures of the training; sizes in bytes."""

    trained_on: str
    trainable: int
    frozen: int
    examples_per_second: float
    optimizer_bytes: NotRequired[int]
    old_embeddings: NotRequired[OldEmbeddings]
    findings: list[str]
    peak_memory: NotRequired[int]
    again: NotRequired[Annotated[dict[str, Any], "settings to try, if a run collapsed"]]


def finetune_runs(context: StepContext, settings: FinetuneStep) -> FinetuneNumbers:
    """Fine-tune a model on a task: one run per seed, times all folds if requested.

    A single run is saved in the folder itself, several in seed-1/, seed-2/, … or seed-1-fold-1/, ….
    """
    folds, seeds = list_folds(context.spec, settings), list(dict.fromkeys(settings.seeds))
    count, runs, known = len(folds) * len(seeds), list[SavedRun](), list[tuple[str, ...]]()

    # 1. Fine-tune each seed on each fold; the examples of a fold are read and encoded once.
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

    # 2. Summarize scores and training.
    numbers = summarize_runs(runs, [run.record["scores"] for run in runs])
    numbers |= {name: runs[0].record[name] for name in ("trained_on", "trainable", "frozen")}
    numbers["examples_per_second"] = measure_training_speed(runs)
    numbers |= _describe_trained_parameters(runs[0])

    # 3. What to try if a run learned nothing.
    if numbers["collapsed"]:
        whole = load_task(context.spec, replace(settings, fold=folds[0]))
        task, _ = limit_task(whole, settings.limit)
        numbers["again"] = find_repair(whole, task, settings.finetune, settings.limit)

    # 4. Findings of all folds are reported once, others with their run.
    shared = [finding for finding in known[0] if all(finding in own for own in known)]
    for entry, run in zip(numbers["seeds"], runs, strict=True):
        entry["findings"] = [one for one in run.record["findings"] if one not in shared]
    return cast(FinetuneNumbers, {**numbers, "findings": shared, **_measure_peak_memory()})


def _describe_trained_parameters(run: SavedRun) -> Numbers:
    """Return the size of the optimizer's state and, if only new embeddings were trained, the number
    of old embeddings that are bit-equal.
    """
    found = {name: run.record.get(name) for name in ("optimizer_bytes", "old_embeddings")}
    return {name: value for name, value in found.items() if value}


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


def _measure_peak_memory() -> Numbers:
    """Return the peak memory of this process in bytes; empty if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return {}
    unit = 1 if sys.platform == "darwin" else 1024
    return {"peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}


def load_task(spec: Spec, settings: FinetuneStep) -> Task:
    """Load the task of a task.toml or of single files; raises InputError if neither or both are
    given.
    """
    # 1. A kind of task with single files.
    file, kind = spec.one("task"), settings.kind
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
    return replace(found, score=settings.scorer or found.score)


def find_finetune_guards(planned: PlannedStep) -> Iterator[Guard]:
    """Yield what to know before a fine-tuning starts; of all folds, the first one is read."""
    settings = planned.spec.settings
    folds = list_folds(planned.spec, settings)
    whole = load_task(planned.spec, replace(settings, fold=folds[0]))
    task, _ = limit_task(whole, settings.limit)
    yield from list_task_guards(
        planned.inputs.model, whole, task, settings.finetune, settings.limit
    )
    work = measure_limited_task(planned, task, len(folds))
    yield build_minutes_guard(learn_rate(planned).forecast(work))


def measure_finetune_work(planned: PlannedStep) -> Work:
    """Return the work of a fine-tuning; of all folds, the first one is read."""
    settings = planned.spec.settings
    folds = list_folds(planned.spec, settings)
    whole = load_task(planned.spec, replace(settings, fold=folds[0]))
    return measure_limited_task(planned, limit_task(whole, settings.limit)[0], len(folds))


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
    collapsed, n_runs = numbers.get("collapsed", 0), len(numbers.get("seeds", ()))
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
    splits, findings = dict(task.splits), list[str]()
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


def summarize_runs(runs: Sequence[SavedRun], scores: Sequence[Mapping[str, Any]]) -> Numbers:
    """Summarize runs: scores by tokenization, mean and standard deviation over seeds, collapsed
    runs.

    Mean and deviation are those of the main tokenization. The figure of a seed with several folds
    is the mean over the folds, as on a leaderboard.
    """
    first = next(iter(scores), {})
    empty: Numbers = {"task": "", "metric": "", "scorer": "", "tokenization": "", "seeds": []}
    numbers: Numbers = {**empty, "mean": {}, "sd": {}}
    collapsed = [bool(run.record.get("collapsed")) for run in runs]

    # 1. Each figure of the main tokenization over the seeds; there is none without labels.
    if first:
        tokenization = choose_main_tokenization(first)
        named, values = first[tokenization], _numeric_values(first[tokenization])
        collapsed_seeds, summaries = find_collapsed_seeds(runs), {}
        for name in values:
            summaries[name] = summarize_seeds(
                average_folds(runs, [own[tokenization][name] for own in scores]), collapsed_seeds
            )
        numbers |= {
            "metric": named["metric"],
            "scorer": named["scorer"],
            "tokenization": tokenization,
            "definition": named.get("definition", ""),
            "classes": named.get("classes", ""),
            "mean": {name: summary.mean for name, summary in summaries.items()},
            "sd": {name: summary.sd for name, summary in summaries.items()},
        }
        if any(collapsed):
            numbers["mean_learned"] = {
                name: summary.mean_learned for name, summary in summaries.items()
            }

    # 2. Each run by itself, under every tokenization.
    for run, own, flag in zip(runs, scores, collapsed, strict=True):
        fold = {"fold": run.record["fold"]} if run.record.get("fold") else {}
        numbers["seeds"].append(
            {
                "seed": run.seed,
                "scores": {tokenization: _numeric_values(one) for tokenization, one in own.items()},
                "collapsed": flag,
                **fold,
            }
        )
    return {**numbers, "task": runs[0].record["task"], "collapsed": sum(collapsed)}


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


def _numeric_values(score: Mapping[str, Any]) -> dict[str, float]:
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
    """Read the progress of each training of a job, by its checkpoint folder, the latest last.

    Keys are "seed 1" or "seed 1, fold 2". The order is that of training: all seeds of a fold, then
    the next fold.
    """
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
