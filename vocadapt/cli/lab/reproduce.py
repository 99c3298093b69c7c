"""reproduce: published tables, ours, and their differences."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypedDict, cast

from vocadapt.cli.command import (
    Answer,
    Command,
    Options,
    option,
    read_settings,
    setting_options,
)
from vocadapt.cli.tables import format_facts, format_table
from vocadapt.cli.workspace_options import WORKSPACE, output_option
from vocadapt.errors import InputError
from vocadapt.lab.experiments.published.imports import import_values
from vocadapt.lab.experiments.published.materials import Materials
from vocadapt.lab.experiments.published.plan import TablePlan, plan_table
from vocadapt.lab.experiments.published.reproduce import Reproduction, reproduce
from vocadapt.lab.experiments.published.trainings import SCALES, STUDY
from vocadapt.lab.experiments.studies.places import check_place
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.progress import part
from vocadapt.published.comparison import Comparison
from vocadapt.published.coverage import compute_gaps
from vocadapt.published.reader import find_table, load_tables
from vocadapt.published.tables import PublishedTable

ALL = "all"
MANY_CELLS = 40  # a table with more is long
COLUMNS = ("row", "column", "published", "ours", "difference", "note")
PLAN_COLUMNS = ("table", "cells", "published", "computable", "hours", "is computed by")


class ImportAnswer(TypedDict):
    """Published values that were imported for a table, of those that are known to it."""

    table: str
    imported: int
    known: int
    sha256: str
    label: str


class TablePlanAnswer(TypedDict):
    """Which cells of a table can be computed here, what the others need, and hours of training."""

    table: str
    title: str
    source: str
    where: str
    cells: int
    published: int
    computable: int
    method: str
    study: Any
    hours: float
    trainings: int
    refusal: str
    needs: list[str]
    command: str


class PlansAnswer(TypedDict):
    """The published tables."""

    tables: list[TablePlanAnswer]


class CellAnswer(TypedDict):
    """A cell: published value, ours, their difference, and why not if they cannot be compared."""

    row: str
    column: str
    published: float | str | None
    ours: float | str | None
    difference: float | None
    equal: bool | None
    sd: float | None
    n: int
    why: str
    imported: str
    remark: str
    comparable: bool


class TableAnswer(TablePlanAnswer):
    """A table that was reproduced."""

    state: str
    computed: int
    comparable: int
    failed: int
    collapsed: int
    script: str
    seconds: float
    rows: list[CellAnswer]


class ReproduceAnswer(TypedDict):
    """The tables that were reproduced."""

    scale: str
    out: str
    seconds: float
    tables: list[TableAnswer]


def _reproduce(
    options: Options,
) -> Answer[ImportAnswer] | Answer[PlansAnswer] | Answer[ReproduceAnswer]:
    if options.imported:
        return _import(options)
    workspace = Workspace(Path(options.workspace))
    materials = Materials(
        workspace,
        tuple(map(Path, options.data or ())),
        *_read_models(options.model or ()),
        options.target or "",
        options.vectors or "",
    )
    root = Path(options.out).absolute() if options.out else workspace.folder("studies", STUDY)
    if not options.tables:
        return _list(materials, root, options)
    return _run(_find_tables(options.tables), materials, root, options)


def _read_place(options: Options) -> StudyStep:
    place = read_settings(options, StudyStep)
    return replace(place, on=check_place(place.on))


def _find_tables(names: Sequence[str]) -> tuple[PublishedTable, ...]:
    if ALL in names:
        return tuple(load_tables().values())
    return tuple(find_table(name) for name in dict.fromkeys(names))


def _read_models(given: Sequence[str]) -> tuple[dict[str, str], str]:
    """Split models into named ones (NAME=DIR) and the stand-in, which has no name."""
    named: dict[str, str] = {}
    stand_in = ""
    for one in given:
        name, sign, folder = one.partition("=")
        if sign:
            named[name] = folder
        elif stand_in:
            raise InputError("Two models without a name were given.", "Name them: NAME=DIR.")
        else:
            stand_in = one
    return named, stand_in


def _import(options: Options) -> Answer[ImportAnswer]:
    if len(options.tables) != 1 or options.tables == [ALL]:
        raise InputError("Values are imported for one table.", "Name the table.")
    (name,) = options.tables
    workspace = Workspace(Path(options.workspace))
    values = import_values(name, Path(options.imported), workspace, options.who or "")
    answer = {"table": name, "imported": len(values.values), "known": values.known}
    whole = {**answer, "sha256": values.sha256, "label": values.label}
    return Answer(cast(ImportAnswer, whole), format_facts(answer))


def _list(materials: Materials, root: Path, options: Options) -> Answer[PlansAnswer]:
    """List the tables with the cells that can be computed here, and what the others need."""
    place = _read_place(options)
    plans = [
        plan_table(table, materials, SCALES[options.scale], root, place.workers)
        for table in load_tables().values()
    ]
    rows = [
        (
            plan.table.id,
            plan.cells,
            plan.published,
            plan.computable,
            _format_hours(plan),
            plan.about,
        )
        for plan in plans
    ]
    missing = [
        f"{plan.table.id}: {plan.needs[0]}{_count_more(plan)}" for plan in plans if plan.needs
    ]
    text = "\n\n".join(
        [
            format_table(PLAN_COLUMNS, rows),
            "Why the other cells are not computed (first reason; reproduce TABLE lists all):\n"
            + "\n".join(missing),
            f"Hours of training at scale {options.scale}: {SCALES[options.scale].about}."
            " python -m vocadapt reproduce TABLE runs one, and shows published, ours, difference.",
        ]
    )
    described = [_describe_plan(plan) for plan in plans]
    return Answer({"tables": cast(list[TablePlanAnswer], described)}, text)


def _format_hours(plan: TablePlan) -> str:
    if not plan.hours:
        return "–"
    mark = ", not started" if plan.refusal else ""
    return f"{plan.hours:.2f}{mark}"


def _count_more(plan: TablePlan) -> str:
    more = len(plan.needs) - 1
    return f"; and {more:,} more" if more else ""


def _describe_plan(plan: TablePlan) -> dict[str, Any]:
    table = plan.table
    return {
        "table": table.id,
        "title": table.title,
        "source": table.source.citation,
        "where": table.where,
        "cells": plan.cells,
        "published": plan.published,
        "computable": plan.computable,
        "method": plan.about,
        "study": table.study,
        "hours": plan.hours,
        "trainings": plan.trainings,
        "refusal": plan.refusal,
        "needs": list(plan.needs),
        "command": plan.command,
    }


def _run(
    tables: Sequence[PublishedTable], materials: Materials, root: Path, options: Options
) -> Answer[ReproduceAnswer]:
    """Reproduce tables one after the other."""
    done, place = [], _read_place(options)
    for number, table in enumerate(tables):
        progress = part(
            options.progress, number / len(tables), (number + 1) / len(tables), table.id
        )
        scale = SCALES[options.scale]
        done.append(reproduce(table, materials, scale, root, place, progress))
    answer = {
        "scale": options.scale,
        "out": str(root),
        "seconds": sum(one.seconds for one in done),
        "tables": [_describe(one) for one in done],
    }
    if len(done) == 1:
        text = _render(done[0])
    else:
        text = _summarize(done)
    return Answer(cast(ReproduceAnswer, answer), text, int(any(one.failed for one in done)))


def _describe(one: Reproduction) -> dict[str, Any]:
    cells = [
        {"row": row, "column": column, **asdict(compared), "comparable": compared.is_comparable}
        for (row, column), compared in one.comparisons.items()
    ]
    return {
        **_describe_plan(one.plan),
        "state": one.why or "computed",
        "computed": one.computed,
        "comparable": one.comparable,
        "failed": one.failed,
        "collapsed": one.collapsed,
        "script": one.script,
        "seconds": one.seconds,
        "rows": cells,
    }


def _render(one: Reproduction) -> str:
    table = one.table
    head = f"{table.title} ({table.source.citation}, {table.where})"
    facts = {
        "computed": f"{one.computed:,} of {len(one.comparisons):,} cells,"
        f" {one.comparable:,} of them comparable",
        "seconds": round(one.seconds, 1),
    }
    if one.why:
        reason = f"{one.why[:1].upper()}{one.why[1:]}."
        return "\n\n".join([head, _format_published(table), reason, format_facts(facts)])
    if one.script:
        facts["script"] = one.script
    # Of a long table, show only the cells with a value of ours, and count the reasons of the others.
    shown, others = one.comparisons, Counter[str]()
    if len(shown) > MANY_CELLS:
        shown = {place: own for place, own in shown.items() if own.ours is not None}
        others.update(own.why for own in one.comparisons.values() if own.ours is None)
    rows = []
    for (row, column), own in shown.items():
        cell = table.grid[row, column]
        published, note = cell.format_value() or "–", own.why or own.remark
        rows.append((row, column, published, _format(own.ours), _format_change(own), note))
    units = dict.fromkeys(cell.facts.unit for cell in table.cells)
    notes = [f"Units of published and ours: {', '.join(units)}."]
    notes += [f"Note: {note}." for note in table.notes]
    if one.collapsed:
        notes.append(f"Note: {one.collapsed:,} cells have collapsed runs.")
    notes += _format_gaps(one)
    missing = [f"{number:,} cells {reason}" for reason, number in others.most_common()]
    parts = [head, format_table(COLUMNS, rows), "\n".join(notes), "\n".join(missing)]
    return "\n\n".join(filter(None, [*parts, format_facts(facts)]))


def _format_gaps(one: Reproduction) -> list[str]:
    """Format the fractions of the gaps that our scores cover, with their intervals and their mean."""
    lines = []
    for name, found in compute_gaps(one.table, one.comparisons).items():
        mean = "not defined" if found.fraction is None else f"{found.fraction:.0%}"
        lines.append(
            f"Fraction of the gap {name}: mean of the fractions {mean}, defined for {found.n_defined:,} of"
            f" {found.n_tasks:,} tasks."
        )
        for task, own in found.tasks.items():
            fraction = own.why if own.fraction is None else f"{own.fraction:.0%}"
            if own.low is not None and own.high is not None:
                fraction += f" ({own.low:.0%} to {own.high:.0%})"
            lines.append(f"  {task}: {fraction}")
    return lines


def _format_published(table: PublishedTable) -> str:
    """Format the table as it is printed: rows by columns, – for a value that is not at hand."""
    rows = []
    for row in table.row_names:
        cells = [table.grid.get((row, column)) for column in table.column_names]
        rows.append((row, *("" if cell is None else cell.format_value() or "–" for cell in cells)))
    return format_table(("", *table.column_names), rows)


def _summarize(done: Sequence[Reproduction]) -> str:
    rows = [
        (
            one.table.id,
            one.computed,
            len(one.comparisons),
            one.comparable,
            f"{one.seconds:.1f}",
            one.why or "computed",
        )
        for one in done
    ]
    header = ("table", "computed", "of", "comparable", "seconds", "state")
    return format_table(header, rows)


def _format(value: float | str | None) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    return value or "–"


def _format_change(compared: Comparison) -> str:
    if compared.equal is not None:
        return "equal" if compared.equal else "different"
    return "" if compared.difference is None else f"{compared.difference:+.2f}"


REPRODUCE = Command(
    _reproduce,
    (
        option(
            "tables",
            nargs="*",
            metavar="TABLE",
            help=f"published tables, or {ALL} (default: list them, with what each needs)",
        ),
        option(
            "--scale",
            default="tiny",
            choices=SCALES,
            metavar="NAME",
            help="amount of training (default tiny). "
            + "; ".join(f"{name}: {scale.about}" for name, scale in SCALES.items()),
        ),
        option(
            "--data",
            nargs="+",
            metavar="DIR",
            help="folders with vocab/, text/, models/, or benchmarks in folders of their names",
        ),
        option(
            "--model",
            nargs="+",
            metavar="DIR",
            help="models: NAME=DIR for a published base model; DIR alone stands in for the first base"
            " model of a table, and its scores are not compared",
        ),
        option("--target", metavar="DIR", help="model whose vocabulary is transferred"),
        option("--vectors", metavar="DIR", help="word vectors of the domain"),
        setting_options(StudyStep, "on", "workers", "gpus"),
        output_option(
            "--out", metavar="DIR", help="folder of the trainings (default: in the workspace)"
        ),
        option(
            "--import",
            dest="imported",
            metavar="FILE",
            help="CSV file (row, column, value, note) that fills empty cells of TABLE",
        ),
        option("--who", metavar="NAME", help="name of the person who imports the values"),
        WORKSPACE,
    ),
)
