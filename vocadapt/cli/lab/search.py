"""search, search seeds: hyperparameters by their dev score, and the dev scores of seeds by epoch."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vocadapt.analysis.results.results import build_mean_column
from vocadapt.cli.command import (
    AddOption,
    Answer,
    Command,
    Options,
    option,
    read_given,
    read_settings,
    setting_options,
)
from vocadapt.cli.options import (
    WITH_WEIGHTS,
    Place,
    describe_place,
    destination_options,
    model_options,
    read_task_inputs,
    task_options,
    write_artifact,
)
from vocadapt.cli.tables import format_facts
from vocadapt.lab.experiments.search.results import STATES, SearchNumbers, SeedsNumbers
from vocadapt.lab.experiments.search.space import build_thesis_space, read_space
from vocadapt.lab.experiments.search.step import FIGURES, PLACE, SearchStep, SeedsStep
from vocadapt.lab.experiments.search.tables import (
    IMPORTANCE,
    build_seed_table,
    build_trial_table,
    format_settings,
)
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.step import Spec
from vocadapt.report.table import Table
from vocadapt.report.terminal import write_terminal
from vocadapt.training.finetune.settings import (
    FINETUNING_PRESETS,
    FinetuneSettings,
    training_preset,
)

ABOUT_IMPORTANCE = "Fraction of the variance of the dev scores; fANOVA, trials done."
SHOWN_TRIALS = 20  # rows of the table of trials; the JSON holds all
# Settings of a fine-tuning that are not options of a search: seeds are an axis of each trial.
OTHER = ("finetune", "kind", "seeds", "weights")


class SearchAnswer(SearchNumbers, Place):
    """The search, the file of its figures, and its numbers again under `numbers`."""

    figures: str
    numbers: SearchNumbers


class SeedsAnswer(SeedsNumbers, Place):
    """The seeds, the file of the figures, and the numbers again under `numbers`."""

    figures: str
    numbers: SeedsNumbers


def _search(options: Options) -> Answer[SearchAnswer]:
    # 1. A setting that is given is not searched.
    training, inputs = _read_training(options)
    space = build_thesis_space()
    if options.space:
        space = read_space(Path(options.space))
    given = [key for key in space.axes if getattr(options, key, None) is not None]
    settings = replace(
        read_settings(options, SearchStep, names=("trials", "seeds", "prune", "search_seed")),
        fixed=tuple(dict.fromkeys([*(options.fixed or ()), *given])),
        training=training,
        place=read_settings(options, StudyStep, names=PLACE),
    )

    # 2. The search, and its answer.
    answer = _run(settings, inputs | {"search_space": options.space}, options)
    numbers = answer.json["numbers"]
    # As for a study with failed cells; a search that found nothing has no verdict to give.
    is_failed = bool(numbers["failed"]) and not numbers["done"]
    text = "\n\n".join([*_write_search(numbers), answer.text])
    return replace(answer, text=text, exit=int(is_failed))


def _write_search(numbers: Mapping[str, Any]) -> list[str]:
    """Return the paragraphs about a search: best settings, importance, trials, notes, command."""
    # 1. The best settings, and the number of trials.
    best = numbers["best"]
    lines = ["No trial is done, so there are no best settings."]
    if best is not None:
        mean = build_mean_column("").write(best)
        seeds = f"n = {best['n']} seeds"
        if best["collapsed"]:
            seeds += f", {best['collapsed']} of them collapsed"
        lines = [
            f"Best settings: {format_settings(best['settings'])}",
            f"{numbers['metric']} on dev: {mean}, {seeds}",
        ]
    counts = ", ".join(f"{numbers[state]:,} {state}" for state in STATES)
    of = f" of {numbers['combinations']:,} combinations" if numbers["combinations"] else ""
    lines.append(
        f"{numbers['trials']:,} trials: {counts}; {numbers['settings']:,}{of} tried;"
        f" space: {numbers['space_source']}"
    )

    # 2. The importance of the settings, and the trials.
    rows = [{"setting": key, "importance": value} for key, value in numbers["importance"].items()]
    importance = "Importance of each setting: too few trials are done."
    if rows:
        importance = write_terminal(Table("", IMPORTANCE, rows, (ABOUT_IMPORTANCE,)))
    trials = build_trial_table(numbers["rows"], numbers["metric"])
    shown = write_terminal(trials.take(SHOWN_TRIALS))
    if len(trials.rows) > SHOWN_TRIALS:
        count = f"The {SHOWN_TRIALS} best of {len(trials.rows):,} trials; --json lists all."
        shown = f"{count}\n\n{shown}"
    parts = ["\n".join(lines), importance, shown, numbers["thesis"], numbers["note"]]
    return [*parts, *filter(None, [numbers["command"]])]


def _compare_seeds(options: Options) -> Answer[SeedsAnswer]:
    training, inputs = _read_training(options)
    settings = replace(
        read_settings(options, SeedsStep, names=("seeds",)),
        training=training,
        place=read_settings(options, StudyStep, names=PLACE),
    )
    answer = _run(settings, inputs, options)
    numbers = answer.json["numbers"]
    lines = [write_terminal(build_seed_table(numbers))]
    for seed in numbers["collapsed"]:
        lines.append(f"Seed {seed} collapsed: never better than the majority baseline on dev.")
    for failure in numbers["failures"]:
        lines.append(f"{failure['name']} failed: {failure['problem']}")
    text = "\n\n".join(["\n".join(lines), answer.text])
    return replace(answer, text=text, exit=int(bool(numbers["failures"])))


def _run(settings: Any, inputs: Mapping[str, Any], options: Options) -> Answer[Any]:
    """Run a step in its growing folder; the JSON of the answer has its numbers under `numbers`."""
    artifact = write_artifact(Spec(settings, dict(inputs), options.offline), options)
    numbers = artifact.manifest.numbers
    place = {**describe_place(artifact), "figures": str(artifact.folder / FIGURES)}
    return Answer({**numbers, **place, "numbers": numbers}, format_facts(place))


def _read_training(options: Options) -> tuple[FinetuneStep, dict[str, Any]]:
    """Read the settings that hold for all cells, and the model and the task."""
    tuning = training_preset(options.settings, **read_given(options, FinetuneSettings))
    given = read_given(options, FinetuneStep)
    given.pop("seeds", None)
    inputs, kind = read_task_inputs(options)
    return FinetuneStep(tuning, **given | kind), inputs


def _declare_options(*own: AddOption) -> tuple[AddOption, ...]:
    return (
        *model_options(help=WITH_WEIGHTS),
        *task_options("; it needs a dev split"),
        *own,
        setting_options(StudyStep, *PLACE),
        *destination_options(grows=True),
        option(
            "--settings",
            choices=FINETUNING_PRESETS,
            default="quick",
            metavar="NAME",
            help="preset of the settings that are neither given nor searched:"
            f" {', '.join(FINETUNING_PRESETS)} (default quick)",
        ),
        setting_options(FinetuneSettings, shown_default="that of the preset"),
        setting_options(FinetuneStep, except_=OTHER),
    )


EPILOG = """A space file names settings by their flags, with _ for -:
  seeds = [1, 2, 3]                                      seeds are averaged, never chosen
  batch_size = [8, 16, 32]                               one of a list
  learning_rate = { low = 1e-5, high = 1e-3, log = true }
A setting that is given as an option is not searched. Run the same command again to continue."""
SEARCH = Command(
    _search,
    _declare_options(
        option(
            "--space",
            metavar="FILE",
            help="space to search, in TOML (default: Fast 2023, table 5.1)",
        ),
        setting_options(SearchStep, except_=("training", "place")),
    ),
    "Search hyperparameters of fine-tuning by their dev score, averaged over seeds. Test scores are"
    " not used.",
    EPILOG,
)
SEEDS = Command(
    _compare_seeds,
    _declare_options(setting_options(SeedsStep, "seeds")),
    "Train every seed with the same settings, and show the dev score after each epoch (Fast 2023,"
    " figure 6.1).",
)
