"""reproduce: published tables, ours, and their differences."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vocadapt.cli.command import Answer, Command, Options, option, read_settings, setting_options
from vocadapt.cli.tables import format_facts, format_table
from vocadapt.cli.workspace_options import WORKSPACE, output_option
from vocadapt.errors import InputError
from vocadapt.lab.experiments.published.imports import fill_imported, import_values
from vocadapt.lab.experiments.published.materials import Materials
from vocadapt.lab.experiments.published.plan import COLUMNS as PLAN_COLUMNS
from vocadapt.lab.experiments.published.plan import PlannedTable, plan_table
from vocadapt.lab.experiments.published.reproduce import COLUMNS, ReproducedTable, reproduce
from vocadapt.lab.experiments.published.trainings import SCALES, STUDY
from vocadapt.lab.experiments.studies.places import check_place
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.progress import part
from vocadapt.published.comparison import build_comparison_table
from vocadapt.published.coverage import compute_gaps
from vocadapt.published.reader import find_table, load_tables
from vocadapt.published.tables import PublishedTable
from vocadapt.report.table import Table
from vocadapt.report.terminal import write_terminal

ALL = "all"
MANY_CELLS = 40  # a table with more is long


@dataclass(frozen=True)
class ImportAnswer:
    """Published values that were imported for a table, of those that are known to it."""

    table: str
    imported: int
    known: int
    sha256: str
    label: str


@dataclass(frozen=True)
class PlansAnswer:
    """The published tables."""

    tables: tuple[PlannedTable, ...]


@dataclass(frozen=True)
class ReproduceAnswer:
    """The tables that were reproduced."""

    scale: str
    out: Path
    seconds: float
    tables: tuple[ReproducedTable, ...]


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
    tables = [find_table(name) for name in dict.fromkeys(options.tables) if name != ALL]
    if ALL in options.tables:
        tables = list(load_tables().values())
    return _run(tables, materials, root, options)


def _read_place(options: Options) -> StudyStep:
    place = read_settings(options, StudyStep)
    return replace(place, on=check_place(place.on))


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
    answer = ImportAnswer(name, len(values.values), values.known, values.sha256, values.label)
    facts = {"table": name, "imported": answer.imported, "known": answer.known}
    return Answer(answer, format_facts(facts))


def _list(materials: Materials, root: Path, options: Options) -> Answer[PlansAnswer]:
    """List the tables with the cells that can be computed here, and what the others need."""
    place = _read_place(options)
    plans = tuple(
        plan_table(table, materials, SCALES[options.scale], root, place.workers)
        for table in load_tables().values()
    )
    missing = []
    for plan in plans:
        if plan.needs:
            more = f"; and {len(plan.needs) - 1:,} more" if plan.needs[1:] else ""
            missing.append(f"{plan.table}: {plan.needs[0]}{more}")
    text = "\n\n".join(
        [
            write_terminal(Table("", PLAN_COLUMNS, plans)),
            "Why the other cells are not computed (first reason; reproduce TABLE lists all):\n"
            + "\n".join(missing),
            f"Hours of training at scale {options.scale}: {SCALES[options.scale].about}."
            " python -m vocadapt reproduce TABLE runs one, and shows published, ours, difference.",
        ]
    )
    return Answer(PlansAnswer(plans), text)


def _run(
    tables: Sequence[PublishedTable], materials: Materials, root: Path, options: Options
) -> Answer[ReproduceAnswer]:
    done = list[ReproducedTable]()
    place = _read_place(options)
    scale = SCALES[options.scale]
    filled = [fill_imported(table, materials.workspace) for table in tables]
    for number, table in enumerate(filled):
        progress = part(
            options.progress, number / len(tables), (number + 1) / len(tables), table.id
        )
        done.append(reproduce(table, materials, scale, root, place, progress))
    text = write_terminal(Table("", COLUMNS, done))
    if len(done) == 1:
        text = _render(done[0], filled[0])
    answer = ReproduceAnswer(options.scale, root, sum(one.seconds for one in done), tuple(done))
    return Answer(answer, text, int(any(one.failed for one in done)))


def _render(one: ReproducedTable, table: PublishedTable) -> str:
    head = f"{table.title} ({table.source.citation}, {table.where})"
    facts = {
        "computed": f"{one.computed:,} of {one.cells:,} cells,"
        f" {one.comparable:,} of them comparable",
        "seconds": round(one.seconds, 1),
    }
    if one.refusal:
        reason = f"{one.refusal[:1].upper()}{one.refusal[1:]}."
        return "\n\n".join([head, _format_published(table), reason, format_facts(facts)])
    if one.script:
        facts["script"] = one.script
    # Of a long table, show only the cells with a value of ours, and count why others have none.
    shown = one.rows
    others = Counter[str]()
    if one.cells > MANY_CELLS:
        shown = tuple(own for own in one.rows if own.ours is not None)
        others.update(own.why for own in one.rows if own.ours is None)
    compared = build_comparison_table((table.grid[own.row, own.column], "", own) for own in shown)
    units = dict.fromkeys(cell.facts.unit for cell in table.cells)
    notes = [f"Units of published and ours: {', '.join(units)}."]
    notes += [f"Note: {note}." for note in table.notes]
    if one.collapsed:
        notes.append(f"Note: {one.collapsed:,} cells have collapsed runs.")
    notes += _format_gaps(one, table)
    missing = [f"{number:,} cells {reason}" for reason, number in others.most_common()]
    parts = [head, write_terminal(compared), "\n".join(notes), "\n".join(missing)]
    return "\n\n".join(filter(None, [*parts, format_facts(facts)]))


def _format_gaps(one: ReproducedTable, table: PublishedTable) -> list[str]:
    """Format the fractions of the gaps that our scores cover, with intervals and mean."""
    lines = []
    for name, found in compute_gaps(table, one.comparisons).items():
        mean = "not defined" if found.fraction is None else f"{found.fraction:.0%}"
        lines.append(
            f"Fraction of the gap {name}: mean of the fractions {mean}, defined for"
            f" {found.n_defined:,} of {found.n_tasks:,} tasks."
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
