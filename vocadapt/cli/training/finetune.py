"""finetune, evaluate: fine-tune a model on a task and score it under each tokenization."""

from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import add_checkpoints, add_model, add_out, write
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_given, read_settings
from vocadapt.cli.tables import describe_kind, format_facts, format_table, number
from vocadapt.errors import InputError
from vocadapt.lab.artifacts.tasks import find_task
from vocadapt.lab.reports.evaluation import EvaluateSettings, evaluate_runs
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.progress import Progress
from vocadapt.training.finetune.settings import (
    FINETUNING_PRESETS,
    FinetuneSettings,
    training_preset,
)
from vocadapt.training.tasks.examples import SPLITS, name_fold
from vocadapt.training.tasks.kinds import TASK_KINDS

OTHER = ("finetune", "kind")  # settings of the step that have options of their own


def _add_options(parser: Parser) -> None:
    parser.formatter_class = RawDescriptionHelpFormatter
    files = (describe_kind(kind.name, kind.file_format) for kind in TASK_KINDS.values())
    parser.epilog = "\n".join(["files, by the kind of task (gzipped or not):", *files])
    add_model(parser, help="hub name or model folder")
    task = (
        "task file (.toml) or folder, name of a task in the workspace, or a kind of task"
        f" ({', '.join(TASK_KINDS)}) with its files"
    )
    parser.add_argument("--task", metavar="KIND|NAME|FILE", required=True, help=task)
    for split in SPLITS:
        parser.add_argument(
            f"--{split}", metavar="F", help=f"{split} examples, with a kind of task"
        )
    presets = "; ".join(
        f"{name}: {preset.about}" for name, preset in FINETUNING_PRESETS.items()
    ).replace("%", "%%")
    parser.add_argument(
        "--settings",
        choices=tuple(FINETUNING_PRESETS),
        default="quick",
        help=f"named settings. {presets} (default quick)",
    )
    add_settings(parser, FinetuneStep, except_=OTHER)
    add_settings(parser, FinetuneSettings, default="the settings'")
    add_checkpoints(parser)
    add_out(parser)


def _finetune(options: Namespace, progress: Progress) -> Answer:
    made = write(_build_spec(options), options, progress)
    numbers = made.manifest.numbers
    place = {
        "out": str(made.folder),
        "seconds": made.manifest.seconds,
        "manifest": str(made.folder / "manifest.json"),
    }
    return Answer({**numbers, **place}, "\n\n".join([render_scores(numbers), format_facts(place)]))


def _build_spec(options: Namespace) -> Spec:
    preset = FINETUNING_PRESETS[options.settings]
    training = training_preset(options.settings, **read_given(options, FinetuneSettings))
    given = read_given(options, FinetuneStep)
    seeds = given.get("seeds", preset.seeds)
    if twice := [seed for place, seed in enumerate(seeds) if seed in seeds[:place]]:
        raise InputError(
            f"The seed {twice[0]} was given twice.",
            "The same seed gives the same run: give each once.",
        )
    kind = options.task if options.task in TASK_KINDS else ""
    inputs = {"model": options.model, **{split: getattr(options, split) for split in SPLITS}}
    if not kind:
        inputs["task"] = str(find_task(options.task, Workspace(Path(options.workspace))))
    settings = FinetuneStep(training, **(given | {"seeds": seeds, "kind": kind}))
    return Spec(
        "finetune",
        settings,
        {role: (path,) for role, path in inputs.items() if path},
        options.offline,
    )


def _add_evaluate_options(parser: Parser) -> None:
    parser.add_argument(
        "--run",
        metavar="DIR",
        required=True,
        help="run folder written by finetune, of one or several seeds",
    )
    parser.add_argument(
        "--test",
        metavar="F",
        help="test examples (default: the run's stored predictions of its own test split)",
    )
    add_settings(parser, EvaluateSettings)


def _evaluate(options: Namespace, progress: Progress) -> Answer:
    test = Path(options.test) if options.test else None
    how = read_settings(options, EvaluateSettings, EvaluateSettings(test))
    numbers = evaluate_runs(Path(options.run), how, progress)
    return Answer(numbers, render_scores(numbers))


def render_scores(numbers: Mapping[str, Any]) -> str:
    """Render the scores per seed and tokenization, their means and deviations, and the findings."""
    names = list(numbers["mean"])
    rows = [
        (
            _name_seed(seed),
            tokenization,
            *(values[name] for name in names),
            "collapsed" if seed.get("collapsed") else "",
        )
        for seed in numbers["seeds"]
        for tokenization, values in seed["scores"].items()
    ]
    nothing = "Nothing is scored: there is no test split, or it holds no labels."
    lines = [format_table(("seed", "tokenization", *names, ""), rows)] if rows else [nothing]
    if len(numbers["seeds"]) > 1 and names:
        means = "; ".join(f"{name} {_format_mean(numbers, name)}" for name in names)
        lines += ["", f"{means} ({numbers['cut']}, {_describe_average(numbers)})"]
    if learned := numbers.get("mean_learned"):
        held = f"{numbers['collapsed']} of {len(numbers['seeds'])} runs collapsed"
        others = "the seeds without one" if _count_folds(numbers) > 1 else "the others"
        lines += [
            f"{held}; mean of {others}: "
            + "; ".join(f"{name} {number(value)}" for name, value in learned.items())
        ]
    if numbers.get("definition"):
        lines += ["", f"{numbers['scorer']}: {numbers['definition']}."]
    if "examples_per_second" in numbers:
        counts = (
            f"{numbers['trainable']:,} of {numbers['trainable'] + numbers['frozen']:,} weights"
            " trained"
        )
        pace = f"{number(numbers['examples_per_second'])} examples/s, {counts}"
        memory = (
            f", {numbers['peak_memory'] / 2**30:.1f} GiB at most"
            if "peak_memory" in numbers
            else ""
        )
        lines += ["", f"{numbers['task']}, {numbers['scorer'] or 'not scored'}: {pace}{memory}."]
    if numbers.get("seen") is not None:
        lines += ["", f"{numbers['seen']:,} of {numbers['of']:,} test examples were trained on."]
    own = [
        f"Seed {_name_seed(seed)}: {said}"
        for seed in numbers["seeds"]
        for said in seed.get("findings", [])
    ]
    return "\n".join([*lines, *numbers.get("findings", []), *own])


def _describe_average(numbers: Mapping[str, Any]) -> str:
    """Describe what means and deviations are computed over."""
    seeds = len({seed["seed"] for seed in numbers["seeds"]})
    counted = f"{seeds} seed{'s' * (seeds > 1)}"
    return (
        f"{counted}, of each the mean over {_count_folds(numbers)} folds"
        if _count_folds(numbers) > 1
        else counted
    )


def _count_folds(numbers: Mapping[str, Any]) -> int:
    """Count the folds of each seed."""
    return len({seed.get("fold") for seed in numbers["seeds"]})


def _name_seed(seed: Mapping[str, Any]) -> str | int:
    """Name a run by its seed, and by its fold if it has one."""
    return name_fold(str(seed["seed"]), seed["fold"]) if "fold" in seed else int(seed["seed"])


def _format_mean(numbers: Mapping[str, Any], name: str) -> str:
    sd = numbers["sd"][name]
    return number(numbers["mean"][name]) + ("" if sd is None else f" ± {number(sd)}")


FINETUNE = Command(_add_options, _finetune)
EVALUATE = Command(_add_evaluate_options, _evaluate)
