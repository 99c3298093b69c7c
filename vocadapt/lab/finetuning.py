"""The step that fine-tunes: which task, one run for each seed, what is reported of them all together."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.lab.spec import FinetuneStep
from vocadapt.lab.task import Numbers, Task
from vocadapt.progress import Progress, part, silent
from vocadapt.training.finetune import Prepared, finetune, prepare
from vocadapt.training.outputs import Said
from vocadapt.training.run_files import SavedRun, chosen_cut, load_run, runs_in, save_run
from vocadapt.training.scoring.summary import over_seeds
from vocadapt.training.tasks import base as tasks
from vocadapt.training.tasks.own import read_split, read_task, task_of_files
from vocadapt.training.tasks.predictions import tally_of
from vocadapt.training.watching import Live, read_live

DRAWN = 0  # the seed of what --limit draws: the same examples for every seed of the training
FINISHED = "run"  # in the checkpoint folder of a seed: its run, where it is done


def finetuned(task: Task, settings: FinetuneStep) -> Numbers:
    """A model + a task → a run for each seed: in the folder itself, or where they are several, in seed-1/, seed-2/ …"""
    given, findings = limited(task_given(task, settings), settings.limit)
    prepared = prepare(task.model, given, settings.finetune, settings.tokenization)
    prepared = replace(prepared, findings=(*findings, *prepared.findings))
    seeds = list(dict.fromkeys(settings.seeds))
    runs = []
    for place, seed in enumerate(seeds):
        several = len(seeds) > 1
        target = task.draft / f"seed-{seed}" if several else task.draft
        named = f"seed {seed}, {place + 1} of {len(seeds)}" if several else ""
        progress = part(task.progress, place / len(seeds), (place + 1) / len(seeds), named)
        runs.append(_one_run(prepared, seed, target, replace(task, progress=progress)))
    numbers = summed([(run.seed, run.record["scores"]) for run in runs], runs)
    for entry, run in zip(numbers["seeds"], runs, strict=True):
        entry["findings"] = [said for said in run.record["findings"] if said not in prepared.findings]
    return {**numbers, "findings": list(prepared.findings), **_peak_memory()}


def _peak_memory() -> Numbers:
    """The most memory that this process held, in bytes, where the system tells."""
    try:
        import resource
    except ImportError:  # Windows
        return {}
    unit = 1 if sys.platform == "darwin" else 1024
    return {"peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}


def task_given(task: Task, settings: FinetuneStep) -> tasks.Task:
    """The task of a TOML, or of loose files; raises InputError where neither or both are given."""
    file, kind = task.spec.one("task"), settings.kind
    splits = {name: Path(path) for name in tasks.SPLITS if (path := task.spec.one(name))}
    if (file is None) == (not kind):
        problem = "Fine-tuning needs a task, or a kind of task with its files."
        raise InputError(problem, "Give --task NAME, or --task KIND --train F --test F.")
    if file is None:
        return task_of_files(kind, splits, settings.scorer)
    if splits:
        problem = f"{file} says which its files are, and {', '.join(splits)} came beside it."
        raise InputError(problem, "Leave them out, or give a kind of task with all its files.")
    found = read_task(Path(file), settings.fold)
    return replace(found, score=settings.scorer or found.score)


def limited(task: tasks.Task, limit: int) -> tuple[tasks.Task, tuple[str, ...]]:
    """At most so many examples of every split (0: all), drawn alike for every seed, and of how many they were drawn."""
    splits, findings = {}, []
    for name, split in task.splits.items():
        splits[name] = split
        if limit and len(split) > limit:
            drawn = np.sort(np.random.default_rng(DRAWN).choice(len(split), limit, replace=False))
            splits[name] = replace(split, examples=tuple(split.examples[place] for place in drawn))
            findings.append(f"{name}: {limit:,} of {len(split):,} examples, drawn at random.")
    return replace(task, splits=splits), tuple(findings)


def summed(scores: Sequence[tuple[int, Mapping[str, Any]]], runs: Sequence[SavedRun] = ()) -> Numbers:
    """Scores by seed and cut, their mean and standard deviation under the cut that counts, and how fast the training was."""
    first = next(iter(scores), (0, {}))[1]
    numbers: Numbers = {"task": "", "metric": "", "scorer": "", "cut": "", "seeds": [], "mean": {}, "sd": {}}
    if first:
        cut = chosen_cut(list(first), "")
        named, values = first[cut], _values(first[cut])
        collapsed = [bool(run.record["collapsed"]) for run in runs]
        summaries = {name: over_seeds([own[cut][name] for _, own in scores], collapsed) for name in values}
        numbers |= {
            "metric": named["metric"], "scorer": named["scorer"], "cut": cut,
            "mean": {name: summary.mean for name, summary in summaries.items()},
            "sd": {name: summary.sd for name, summary in summaries.items()},
        }  # fmt: skip
        if any(collapsed):
            numbers["mean_learned"] = {name: summary.mean_learned for name, summary in summaries.items()}
    numbers["seeds"] = [{"seed": seed, "scores": {cut: _values(one) for cut, one in own.items()}} for seed, own in scores]
    if not runs:
        return numbers
    for entry, run in zip(numbers["seeds"], runs, strict=True):
        entry["collapsed"] = run.record["collapsed"]
    record = runs[0].record
    trained = sum(run.record["seconds"] for run in runs)
    return {
        **numbers, "task": record["task"], "tokenization": record["tokenization"], "trainable": record["trainable"],
        "frozen": record["frozen"], "collapsed": sum(run.record["collapsed"] for run in runs),
        "examples_per_second": sum(run.record["examples"] for run in runs) / trained if trained else 0.0,
    }  # fmt: skip


def _values(score: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a score, without what names it."""
    return {name: value for name, value in score.items() if isinstance(value, float)}


def _one_run(prepared: Prepared, seed: int, target: Path, task: Task) -> SavedRun:
    """The run of one seed; one that a stopped job had finished is taken over."""
    checkpoint = task.checkpoint / f"seed-{seed}" if task.checkpoint else None
    kept = checkpoint / FINISHED if checkpoint else None
    if kept is not None and kept.is_dir():
        shutil.copytree(kept, target, dirs_exist_ok=True)
        return load_run(target)
    if checkpoint is not None:
        checkpoint.mkdir(parents=True, exist_ok=True)
    save_run(finetune(prepared, seed, checkpoint, task.progress), prepared, target)
    if checkpoint is not None and kept is not None and target != task.draft:
        shutil.copytree(target, draft := checkpoint / f"{FINISHED}.part", dirs_exist_ok=True)
        draft.rename(kept)
        for left in checkpoint.glob("checkpoint-*"):
            shutil.rmtree(left)
    return load_run(target)


def watched(checkpoint: Path) -> dict[int, Live]:
    """Seed → how its training goes or went, in the checkpoint folder of a job that is under way."""
    folders = sorted((path for path in checkpoint.glob("seed-*") if path.name[5:].isdigit()), key=lambda path: int(path.name[5:]))
    return {int(folder.name[5:]): read_live(folder) for folder in folders}


def evaluated(folder: Path, test: Path | None, tokenization: str, scorer: str, progress: Progress = silent) -> Numbers:
    """The scores of a run, or of all seeds of one: of its own test split as it was predicted, or of other examples.

    Raises InputError for examples without labels, a cut that the run does not have, and a score that does not fit.
    """
    runs = runs_in(folder)
    scores = []
    for place, run in enumerate(runs):
        split = read_split(run.kind, test) if test else run.kept.split
        if not split.labelled:
            raise InputError(f"{split.path}: holds no labels, so nothing can be scored.", "Use predict.")
        said = run.kept.said if test is None else _said_of(run, split, part(progress, place / len(runs), (place + 1) / len(runs)))
        kept = [chosen_cut(list(said), tokenization)] if tokenization else list(said)
        chosen = run.scorer(scorer)
        own = {cut: chosen.of(tally_of(split, said[cut], chosen, run.rules), run.rules).to_dict() for cut in kept}
        scores.append((run.seed, own))
    return {**summed(scores), "run": str(folder), "task": runs[0].record["task"]}


def _said_of(run: SavedRun, split: tasks.Split, progress: Progress) -> dict[str, list[Said]]:
    logits = run.logits(split.examples, progress)
    return {cut: list(map(run.outputs.said, own, split.examples)) for cut, own in logits.items()}
