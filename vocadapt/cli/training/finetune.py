"""finetune, evaluate, zero-shot: fine-tune a model on a task and score it under each tokenization;
tasks list, card, download: the published benchmarks.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt.cli.command import (
    Answer,
    Command,
    Options,
    option,
    read_given,
    read_settings,
    setting_options,
)
from vocadapt.cli.options import (
    CHECKPOINTS,
    WITH_WEIGHTS,
    describe_place,
    destination_options,
    format_change,
    model_options,
    read_task_inputs,
    require_destination,
    task_options,
    write_artifact,
)
from vocadapt.cli.tables import describe_kind, format_facts, format_number
from vocadapt.cli.workspace_options import output_option
from vocadapt.errors import InputError
from vocadapt.lab.inputs.tasks import fetch_benchmark
from vocadapt.lab.reports.evaluation import EvaluateNumbers, EvaluateSettings, evaluate_runs
from vocadapt.lab.reports.zero_shot import SCORES, ZeroShotSettings, run_zero_shot
from vocadapt.lab.steps.finetune import FinetuneNumbers, FinetuneStep, RunNumbers
from vocadapt.lab.steps.guards import Guard
from vocadapt.lab.steps.step import Spec, read_numbers
from vocadapt.lab.workspace.manifest import MANIFEST
from vocadapt.presets import get_preset
from vocadapt.report.table import Column, Table
from vocadapt.report.terminal import write_terminal
from vocadapt.training.finetune.settings import (
    FINETUNING_PRESETS,
    FinetuneSettings,
    training_preset,
)
from vocadapt.training.tasks.benchmarks import ACCESS, UNKNOWN, Card, cards, find_card
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.vocabulary.advice.advice import DEFAULT_PRESET

OTHER = ("finetune", "kind")  # settings of the step that are declared separately
CHANGED = ("epochs", "batch", "lr", "word_rule")  # settings of the fine-tuning in zero-shot


@dataclass(frozen=True, kw_only=True)
class FinetuneAnswer(FinetuneNumbers):
    """The fine-tuned runs, and where they are."""

    out: str
    seconds: float
    manifest: str
    training_seconds: float | None = None
    guards: list[Guard]


@dataclass(frozen=True, kw_only=True)
class ZeroShotAnswer(EvaluateNumbers):
    """Scores on unseen questions of the domain, and where the models and scores are."""

    out: str
    seconds: float
    scores: str


def _finetune(options: Options) -> Answer[FinetuneAnswer]:
    # 1. The settings: a preset with the options that were given.
    preset = FINETUNING_PRESETS[options.settings]
    training = training_preset(options.settings, **read_given(options, FinetuneSettings))
    given = {"seeds": preset.seeds, **read_given(options, FinetuneStep)}
    seeds = given["seeds"]
    if twice := [seed for place, seed in enumerate(seeds) if seed in seeds[:place]]:
        raise InputError(
            f"The seed {twice[0]} was given twice.",
            "Give each seed once: the same seed gives the same run.",
            code="repeated-seed",
        )

    # 2. The run: of a defined task, or of a kind of task with its files.
    inputs, kind = read_task_inputs(options)
    spec = Spec(FinetuneStep(training, **given | kind), inputs, options.offline)
    run = write_artifact(spec, options)
    numbers: FinetuneNumbers = read_numbers(run)
    place = describe_place(run)
    parts = [render_scores(numbers), numbers.describe_training(), format_facts(place)]
    if numbers.again:
        parts.append(f"Train again with: {format_change(numbers.again, spec.settings)}")
    return Answer(FinetuneAnswer(**vars(numbers), **place), "\n\n".join(parts))


def _evaluate(options: Options) -> Answer[EvaluateNumbers]:
    test = Path(options.test) if options.test else None
    numbers = evaluate_runs(
        Path(options.run),
        read_settings(options, EvaluateSettings, EvaluateSettings(test)),
        options.progress,
    )
    return Answer(numbers, render_scores(numbers))


def _zero_shot(options: Options) -> Answer[ZeroShotAnswer]:
    start = time.perf_counter()
    out = Path(options.out)
    settings = ZeroShotSettings(
        options.model,
        Path(options.train),
        Path(options.test),
        get_preset(options.preset),
        options.vectors,
        tuple(options.corpus),
        training_preset(options.settings, **read_given(options, FinetuneSettings)),
        offline=options.offline,
        **read_given(options, ZeroShotSettings),
    )
    # The output is a folder of two models and scores, not an artifact of a workspace.
    numbers = run_zero_shot(settings, out, options.progress)
    seconds = time.perf_counter() - start
    place: dict[str, Any] = {"out": str(out), "seconds": seconds, "scores": str(out / SCORES)}
    text = f"{render_scores(numbers)}\n\n{format_facts(place)}"
    return Answer(ZeroShotAnswer(**vars(numbers), **place), text)


def render_scores(numbers: RunNumbers) -> str:
    """Render the scores per seed and tokenization, their means and deviations, and the findings."""
    lines = ["No scores: there is no test split, or it has no labels."]
    if numbers.mean:
        lines = [write_terminal(numbers.build_table())]
    if numbers.definition:
        lines += ["", f"{numbers.scorer}: {numbers.definition}."]
    own = [f"Seed {one.name}: {found}" for one in numbers.seeds for found in one.findings]
    return "\n".join([*lines, *numbers.findings, *own])


EXPLAINED_PRESETS = "; ".join(
    f"{name}: {preset.about}" for name, preset in FINETUNING_PRESETS.items()
).replace("%", "%%")
FILES = "\n".join(describe_kind(kind.name, kind.file_format) for kind in TASK_KINDS.values())
FINETUNE = Command(
    _finetune,
    (
        *model_options(help=WITH_WEIGHTS),
        *task_options(),
        option(
            "--settings",
            choices=FINETUNING_PRESETS,
            default="quick",
            help=f"named settings. {EXPLAINED_PRESETS} (default quick)",
        ),
        setting_options(FinetuneStep, except_=OTHER),
        setting_options(FinetuneSettings, shown_default="the settings'"),
        CHECKPOINTS,
        *destination_options(),
    ),
    epilog=f"files, by the kind of task (gzipped or not):\n{FILES}",
)
EVALUATE = Command(
    _evaluate,
    (
        option(
            "--run",
            metavar="DIR",
            required=True,
            help="run folder written by finetune, of one or several seeds",
        ),
        option(
            "--test",
            metavar="F",
            help="test examples (default: the run's stored predictions of its own test split)",
        ),
        setting_options(EvaluateSettings),
    ),
)
ZERO_SHOT = Command(
    _zero_shot,
    (
        *model_options(help="hub name or model folder, with or without a head for questions"),
        option("--train", metavar="F", required=True, help="general questions in SQuAD's format"),
        option(
            "--test",
            metavar="F",
            required=True,
            help="questions of the domain, none of which may occur in --train",
        ),
        option("--vectors", metavar="V", default="", help="word vectors of the domain"),
        option(
            "--corpus",
            metavar="T",
            nargs="+",
            default=(),
            help="text of the domain to train word vectors on, instead of --vectors",
        ),
        option(
            "--preset",
            default=DEFAULT_PRESET,
            metavar="P",
            help=f"recipe of the adaptation (default {DEFAULT_PRESET})",
        ),
        option(
            "--settings",
            choices=FINETUNING_PRESETS,
            default="quick",
            help="named settings of the fine-tuning (default quick)",
        ),
        setting_options(FinetuneSettings, *CHANGED, shown_default="the settings'"),
        setting_options(ZeroShotSettings, "seed", "limit"),
        output_option(
            "--out",
            metavar="DIR",
            required=True,
            help="output folder for general/, adapted/ and scores.json",
        ),
    ),
)


COLUMNS = (
    Column("name", "Name"),
    Column("kind", "Kind"),
    Column("scorer", "Score"),
    Column("sizes", "Sizes", "Of each split.", "figure"),
    Column("access", "Files", "free: tasks download fetches them."),
)


@dataclass(frozen=True)
class DownloadAnswer:
    """The task that was written: examples of each split (of the first fold, if it has folds), and
    the SHA-256 of each downloaded file; folds and their examples are null without folds.
    """

    out: Path
    seconds: float
    manifest: Path
    task: str
    kind: str
    examples: dict[str, int]
    folds: int | None
    by_fold: dict[str, list[int]] | None
    sha256: dict[str, str]
    findings: list[str]


def _list(options: Options) -> Answer[list[Card]]:
    wanted = getattr(options, "kind", None)
    shown = [card for card in cards().values() if wanted in (None, card.kind)]
    rows = []
    for card in shown:
        access = "free" if card.free else card.access
        rows.append({**vars(card), "sizes": _format_sizes(card), "access": access})
    note = (
        "tasks card NAME shows its card; tasks download NAME --out DIR downloads a free benchmark."
    )
    return Answer(shown, write_terminal(Table("", COLUMNS, rows, (note,))))


def _show_card(options: Options) -> Answer[Card]:
    card = find_card(options.benchmark)
    # Some benchmarks may not be redistributed; the card describes how to get them.
    files = "available with tasks download"
    if not card.free:
        files = ACCESS[card.access]
    sizes = {}
    for split, counts in card.sizes.items():
        sizes[split] = ", ".join(f"{format_number(count)} {unit}" for unit, count in counts.items())
    values = {
        "name": card.name,
        "kind": card.kind,
        "about": card.about,
        "version": card.version,
        "labels": ", ".join(label or "(bare tags: one type)" for label in card.labels),
        **sizes,
        "folds": card.folds or "none",
        "metric": card.metric,
        "score here": card.scorer,
        "license": card.license,
        "files": files,
        "where": card.where,
        "facts from": card.source,
        **{f"note {place}": note for place, note in enumerate(card.notes, start=1)},
    }
    return Answer(
        card,
        format_facts({name: value or UNKNOWN for name, value in values.items()}),
    )


def _format_sizes(card: Card) -> str:
    """Format the first size of every split: 5424/923/940 sentences."""
    if not card.sizes:
        return "–"
    # The first size of a split is in the unit of the task: sentences, not tokens.
    first = [next(iter(counts.items())) for counts in card.sizes.values()]
    return f"{'/'.join(str(count) for _, count in first)} {first[0][0]}"


def _download(options: Options) -> Answer[DownloadAnswer]:
    folder = require_destination(options, "tasks")
    task, manifest = fetch_benchmark(
        options.benchmark, folder, options.source, options.overwrite, options.progress
    )
    numbers = manifest.numbers
    place: dict[str, Any] = {
        "out": folder,
        "seconds": manifest.seconds,
        "manifest": folder / MANIFEST,
    }
    # The sizes of a task with folds are those of its first fold.
    facts: dict[str, Any] = {"task": task.name}
    for split, size in numbers["examples"].items():
        facts[split] = f"{size:,} examples"
        if by_fold := numbers.get("by_fold", {}).get(split):
            facts[split] += (
                f" in the first of {len(by_fold)} folds ({min(by_fold):,} to {max(by_fold):,} in"
                " all of them)"
            )
    facts |= {f"note {i}": note for i, note in enumerate(numbers["findings"], start=1)}
    answer = DownloadAnswer(
        **place,
        task=task.name,
        kind=task.kind,
        examples=numbers["examples"],
        folds=numbers.get("folds"),
        by_fold=numbers.get("by_fold"),
        sha256=numbers["sha256"],
        findings=numbers["findings"],
    )
    return Answer(answer, format_facts({**facts, **place}))


BENCHMARK = option(
    "benchmark",
    metavar="NAME",
    help="benchmark as family/name, or its name alone if that is unambiguous",
)
LIST = Command(_list, (option("--kind", choices=TASK_KINDS, help="kind of tasks to list"),))
CARD = Command(_show_card, (BENCHMARK,))
DOWNLOAD = Command(
    _download,
    (
        BENCHMARK,
        option(
            "--from",
            dest="source",
            metavar="PLACE",
            default="",
            help="address of a mirror or folder to read instead of the original source",
        ),
        *destination_options(),
    ),
)
