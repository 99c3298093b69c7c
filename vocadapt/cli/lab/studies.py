"""study plan, run, cell, status, table, report: grids of variants × tasks × seeds, from one file."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any, NotRequired, cast

from vocadapt.cli.command import Answer, Command, Options, option, read_settings, setting_options
from vocadapt.cli.options import Place, describe_place, run_and_report
from vocadapt.cli.tables import format_facts, format_table
from vocadapt.cli.workspace_options import WORKSPACE, output_option
from vocadapt.errors import InputError
from vocadapt.given_settings import Given
from vocadapt.lab.experiments.studies.estimates import estimate_energy, estimate_grid
from vocadapt.lab.experiments.studies.grid import Grid, expand
from vocadapt.lab.experiments.studies.places import count_workers
from vocadapt.lab.experiments.studies.report import ENDINGS, write_report
from vocadapt.lab.experiments.studies.runner import Failure
from vocadapt.lab.experiments.studies.slurm import ArrayTaskOutcome, run_array_task
from vocadapt.lab.experiments.studies.states import count_states, find_states
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.experiments.studies.study_file import Study, read_study
from vocadapt.lab.experiments.studies.table import COLUMNS, build_table, group_cells
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace, find_root
from vocadapt.progress import duration
from vocadapt.report.table import Table
from vocadapt.report.terminal import write_terminal
from vocadapt.settings import show_value
from vocadapt.system.footprint import format_basis, format_co2, format_energy

GIGA = 1e9
TERMINAL = 80  # columns
OUTCOME = ("cells", "done", "failed", "collapsed", "skipped")


@dataclass(frozen=True)
class PlanAnswer:
    """Size of a study, `whole` of whose cells are finished, and what its remaining cells take;
    `load`: how many times longer than when this machine is idle.
    """

    cells: int
    models: int
    vectors: int
    whole: int
    variants: int
    tasks: int
    seeds: int
    seconds: float
    seconds_alone: float
    basis: str
    bytes: int
    kwh: float
    kg_co2: float
    workers: int
    adaptations: dict[str, Given]
    load: float
    out: Path


class RunAnswer(Place):
    """What a run of a study did."""

    cells: int
    done: int
    failed: int
    collapsed: int
    skipped: int
    failures: list[Failure]
    script: NotRequired[str]


@dataclass(frozen=True)
class CellAnswer:
    """State of a cell, and its folder."""

    variant: str
    task: str
    seed: int
    state: str
    fraction: float | None
    problem: str
    folder: Path


@dataclass(frozen=True)
class StatusAnswer:
    """States of the cells of a study."""

    cells: list[CellAnswer]
    states: dict[str, int]
    out: Path


@dataclass(frozen=True)
class TableAnswer:
    """The results of a study: a row for each variant and task."""

    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class ReportAnswer:
    """The report that was written, with `finished` of the cells."""

    cells: int
    finished: int
    format: str
    file: Path


def _plan(options: Options) -> Answer[PlanAnswer]:
    study, grid, folder = _open(options)
    settings = read_settings(options, StudyStep)
    workers = count_workers(settings.workers, study)
    cost = estimate_grid(grid, folder, workers)
    energy = estimate_energy(cost, study.threads, folder)
    answer = PlanAnswer(
        cells=len(grid.cells),
        models=len(grid.models),
        vectors=len(grid.vectors),
        whole=sum(cell.step.is_whole(folder) for cell in grid.cells),
        variants=len(grid.rows),
        tasks=len(grid.tasks),
        seeds=len({cell.seed for cell in grid.cells}),
        seconds=cost.forecast.seconds,
        seconds_alone=cost.seconds_alone,
        basis=cost.forecast.basis,
        bytes=cost.bytes,
        kwh=energy.kwh,
        kg_co2=energy.kg_co2,
        workers=workers,
        adaptations={one.name: one.adapting for one in study.variants if one.is_adapted},
        load=cost.forecast.load,
        out=folder,
    )
    planned = Counter((cell.row, cell.task) for cell in grid.cells)
    finished = group_cells(grid, folder)
    rows = [(*place, number, len(finished[place])) for place, number in planned.items()]
    table = format_table(("variant", "task", "seeds", "finished"), rows)
    basis = _wrap(f"Time {answer.basis}. Energy from {format_basis(energy)}.")
    return Answer(answer, "\n\n".join([table, *_render_plan(answer, study), basis]))


def _render_plan(plan: PlanAnswer, study: Study) -> list[str]:
    """Return the paragraphs on the adaptations and on what the study takes."""
    facts = {
        "cells": f"{plan.cells:,}, of which {plan.whole:,} are finished",
        "adapted models": f"{plan.models:,}",
        "word vectors": f"{plan.vectors:,} to train",
        "time": f"about {duration(plan.seconds)} on {_format_count(plan.workers, 'worker')} of"
        f" {_format_count(study.threads, 'thread')}",
        "disk": f"about {plan.bytes / GIGA:.1f} GB, plus the predictions",
        "energy": f"about {format_energy(plan.kwh)}, {format_co2(plan.kg_co2)}",
        "out": plan.out,
    }
    busy = f"This machine is busy: this is {plan.load:g} times longer than when it is idle."
    return [_format_adaptations(study), format_facts(facts), *[busy] * (plan.load > 1)]


def _format_adaptations(study: Study) -> str:
    """Return a line for each variant: its adaptation, and the settings of its fine-tuning."""
    lines = []
    for one in study.variants:
        parts = [f"{one.name}: the model as it is"]
        if one.is_adapted:
            parts = [f"{one.name}: adapted by {_format_given(one.adapting)}"]
        if one.training:
            parts.append(f"fine-tuned with {_format_given(one.training)}")
        lines.append(_wrap("; ".join(parts)))
    return "\n".join(lines)


def _wrap(text: str) -> str:
    return fill(text, TERMINAL, subsequent_indent="  ", break_long_words=False)


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _format_given(given: Given) -> str:
    """Return keys and values, paths by their last part."""
    return ", ".join(f"{key} {_format_value(value)}" for key, value in given.items())


def _format_value(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_format_value, value))
    if isinstance(value, str):
        return Path(value).name
    return show_value(value)


def _run(options: Options) -> Answer[RunAnswer]:
    study = read_study(Path(options.file))
    settings = read_settings(options, StudyStep)
    folder = _find_folder(study, options)
    spec = Spec(settings, {"file": options.file}).absolute()
    made = run_and_report(spec, folder, options)
    numbers = made.manifest.numbers
    values = {name: numbers[name] for name in OUTCOME} | {
        "failures": numbers["failures"],
        **describe_place(made),
    }
    if "script" in numbers:
        values["script"] = numbers["script"]
    failures = [
        f"{one['name']} failed after {_format_count(one['attempts'], 'attempt')}: {one['problem']}"
        for one in numbers["failures"]
    ]
    facts = {name: value for name, value in values.items() if name != "failures"}
    table = write_terminal(Table("", COLUMNS, numbers["rows"]))
    text = "\n".join([table, "", *failures, format_facts(facts)])
    return Answer(cast(RunAnswer, values), text, int(numbers["failed"] > 0))


def _run_part(options: Options) -> Answer[ArrayTaskOutcome]:
    _, grid, folder = _open(options)
    if options.index >= options.of:
        raise InputError(f"There is no part {options.index} of {options.of}: parts begin with 0.")
    outcome = run_array_task(grid, folder, options.index, options.of)
    return Answer(outcome, format_facts(vars(outcome)), int(outcome.done < outcome.cells))


def _status(options: Options) -> Answer[StatusAnswer]:
    _, grid, folder = _open(options)
    states = find_states(grid, folder)
    counts = count_states(states)
    cells = [
        CellAnswer(
            one.cell.row,
            one.cell.task,
            one.cell.seed,
            one.state,
            one.fraction,
            one.problem,
            one.cell.step.find_folder(folder),
        )
        for one in states
    ]
    shown = [one for one in cells if one.state not in ("done", "waiting")]
    lines = [", ".join(f"{count:,} {state}" for state, count in counts.items())]
    if shown:
        columns = ("variant", "task", "seed", "state", "fraction", "problem")
        rows = [tuple(getattr(one, name) for name in columns) for one in shown]
        lines.append(format_table(columns, rows))
    return Answer(StatusAnswer(cells, counts, folder), "\n\n".join(lines))


def _table(options: Options) -> Answer[TableAnswer]:
    _, grid, folder = _open(options)
    table = build_table(grid, folder)
    return Answer(TableAnswer(table.list_records()), write_terminal(table))


def _report(options: Options) -> Answer[ReportAnswer]:
    study, grid, folder = _open(options)
    form = options.format or "html"
    file = Path(options.to or f"{study.name}{ENDINGS[form]}")
    whole = write_report(grid, folder, file, form, options.overwrite)
    answer = ReportAnswer(len(grid.cells), whole, form, file)
    return Answer(answer, f"{file}: {whole:,} of {answer.cells:,} cells are finished")


def _open(options: Options) -> tuple[Study, Grid, Path]:
    study = read_study(Path(options.file))
    folder = _find_folder(study, options)
    # As the step does, which knows a workspace by the folder that it fills.
    root = find_root(folder)
    workspace = Workspace(root) if root else None
    return study, expand(study, folder, options.confirm or 0, workspace), folder


def _find_folder(study: Study, options: Options) -> Path:
    """Return the folder of a study: --out, or the one of its name in the workspace."""
    if options.out:
        return Path(options.out).absolute()
    return Workspace(Path(options.workspace)).folder("studies", study.name)


PLACE = (
    option("file", metavar="FILE", help="file of a study, in TOML"),
    output_option("--out", metavar="DIR", help="folder of the study (default: in the workspace)"),
    WORKSPACE,
)
PLAN = Command(_plan, (*PLACE, setting_options(StudyStep)))
RUN = Command(_run, (*PLACE, setting_options(StudyStep)))
CELL = Command(
    _run_part,
    (
        option("file", metavar="FILE", help="file of a study, in TOML"),
        option("index", metavar="INDEX", between=(0, 10**6), help="index of the part, from 0"),
        option(
            "--of",
            default=1,
            between=(1, 10**6),
            metavar="N",
            help="number of parts: part INDEX has the cells INDEX, INDEX + N, … (default 1: all cells)",
        ),
        *PLACE[1:],
        setting_options(StudyStep, "confirm"),
    ),
)
STATUS = Command(_status, (*PLACE, setting_options(StudyStep, "confirm")))
TABLE = Command(_table, (*PLACE, setting_options(StudyStep, "confirm")))
REPORT = Command(
    _report,
    (
        *PLACE,
        output_option(
            "--to", metavar="FILE", help="file to write (default: the name of the study)"
        ),
        option(
            "--format",
            choices=tuple(ENDINGS),
            help="web page or table (default: html)",
        ),
        option("--overwrite", action="store_true", help="replace an existing file"),
        setting_options(StudyStep, "confirm"),
    ),
)
