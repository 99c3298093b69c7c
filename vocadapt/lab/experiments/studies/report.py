"""The report of a study: collected from its folder, and written in one of several formats."""

import platform
from collections.abc import Callable, Mapping
from pathlib import Path

from vocadapt.analysis.results.setting_differences import (
    NO_VALUE,
    SettingTable,
    build_setting_table,
    keep_differences,
)
from vocadapt.analysis.results.study_report import StudyReport, Unfinished, render_study_page
from vocadapt.errors import InputError, check_choice
from vocadapt.lab.experiments.studies.cell_step import CellStep
from vocadapt.lab.experiments.studies.grid import Grid
from vocadapt.lab.experiments.studies.labelled_settings import (
    MODEL,
    NO_RECIPE,
    RECIPE,
    SOURCES,
    Labelled,
    list_adaptation,
    list_training,
    shorten_paths,
)
from vocadapt.lab.experiments.studies.states import (
    FINISHED,
    count_states,
    find_states,
    find_step_state,
)
from vocadapt.lab.experiments.studies.table import (
    COLUMNS,
    build_boards,
    build_other_rows,
    build_rows,
    describe_rows,
)
from vocadapt.lab.workspace.drafts import check_free_file, open_file_draft
from vocadapt.lab.workspace.manifest import MANIFEST, Manifest, read_manifest
from vocadapt.lab.workspace.rates import read_workspace_rates
from vocadapt.report.csv_files import write_csv
from vocadapt.report.latex import write_latex
from vocadapt.report.table import Table
from vocadapt.system.cores import count_cores
from vocadapt.system.footprint import (
    Footprint,
    compute_cost,
    format_basis,
    format_co2,
    format_energy,
    sum_footprints,
)

SEEDS = "Seeds"  # a setting of a cell that is an axis of the study
FORMATS: Mapping[str, Callable[[StudyReport], str]] = {  # name → how it is rendered
    "html": render_study_page,
    "latex": lambda report: write_latex([report.table]),
    # The table, and the scores under the other tokenizations.
    "csv": lambda report: write_csv(
        [report.table, Table("", COLUMNS, build_other_rows(report.boards))]
    ),
}
ENDINGS = {"html": ".html", "latex": ".tex", "csv": ".csv"}


def write_report(
    grid: Grid, root: Path, file: Path, form: str = "html", overwrite: bool = False
) -> int:
    """Write the report of a study to a file; return the number of finished cells in it.

    Raises InputError for an unknown format, if the file exists, and if no cell is finished.
    """
    check_choice("format", form, ENDINGS)
    check_free_file(file, overwrite)
    whole = sum(cell.step.is_whole(root) for cell in grid.cells)
    if not whole and form != "html":
        raise InputError(
            f"No cell of {grid.study.name} is finished.", "Run the study first.", code="no-cells"
        )
    with open_file_draft(file) as draft:
        draft.write_bytes(render_report(grid, root, form))
    return whole


def render_report(grid: Grid, root: Path, form: str) -> bytes:
    """Return the content of a report in a format, which must be a key of ENDINGS."""
    return FORMATS[form](build_report(grid, root)).encode()


def build_report(grid: Grid, root: Path) -> StudyReport:
    """Collect the report of a study from its folder: results, states of the cells, and how it was
    computed.
    """
    boards = build_boards(grid, root)
    table = describe_rows(build_rows(grid, root, boards), grid, boards)
    states = find_states(grid, root)
    columns = _collect_settings(grid)
    settings = build_setting_table(columns)
    differing = _find_differences(settings)
    manifests = [read_manifest(s.find_folder(root)) for s in grid.steps if s.is_whole(root)]
    return StudyReport(
        table=table,
        boards=boards,
        planned=len(grid.cells),
        states=count_states(states),
        unfinished=_list_unfinished(grid, root),
        setting_columns=tuple(columns),
        differing=differing,
        common=_find_common(settings, differing),
        environment=_describe_environment(grid, manifests),
        footprint=_describe_footprint(grid, root, manifests),
    )


def _list_unfinished(grid: Grid, root: Path) -> tuple[Unfinished, ...]:
    """Return the word vectors, adapted models and cells without a result, each with its state and
    problem.
    """
    failures = {}
    if (root / MANIFEST).is_file():
        listed = read_manifest(root).numbers.get("failures", ())
        failures = {one["name"]: one["problem"] for one in listed}

    def find(what: str, step: CellStep) -> Unfinished:
        state, _, problem = find_step_state(step, root)
        if state == "waiting" and step.name in failures:
            state = "failed"
        return Unfinished(what, state, problem or failures.get(step.name, ""))

    # A model whose cells are finished may have been removed, and the vectors of a finished model.
    missing = {step.name for step in grid.list_missing(root)}
    found = [
        find(f"{what} {name}", step)
        for what, steps in (("word vectors", grid.vectors), ("adapted model", grid.models))
        for name, step in steps.items()
        if name in missing
    ]
    for cell in grid.cells:
        found.append(find(f"{cell.row} · {cell.task} · seed {cell.seed}", cell.step))
    return tuple(one for one in found if one.state not in FINISHED)


def _collect_settings(grid: Grid) -> dict[str, Labelled]:
    """Return column → label of a setting → value: of the training of each variant on each task, and
    of the adaptation of its model.
    """
    several = len(grid.tasks) > 1
    found: dict[str, Labelled] = {}
    for cell in grid.cells:
        column = cell.row
        if several:
            column = f"{cell.row} · {cell.task}"
        if column in found:
            continue
        training = list_training(cell.step.spec.settings)
        training.pop(SEEDS)
        source = cell.step.spec
        adaptation = {RECIPE: NO_RECIPE}
        if cell.step.needs:
            source = cell.step.needs.given_spec
            adaptation = list_adaptation(source)
        found[column] = {MODEL: source.inputs["model"], **adaptation, **training}
    return shorten_paths(found, (MODEL, *SOURCES.values()))


def _find_differences(settings: SettingTable) -> SettingTable:
    """Return the settings that differ. One that only some models have is compared between those:
    the recipe tells which models are not adapted.
    """
    differing = keep_differences(settings)
    return {name: own for name, own in differing.items() if len({*own} - {NO_VALUE}) > 1}


def _find_common(settings: SettingTable, differing: SettingTable) -> SettingTable:
    """Return the settings that do not differ; a value that only adapted models have comes first."""
    found = {}
    for name, values in settings.items():
        known = [value for value in values if value != NO_VALUE]
        if name not in differing and known:
            found[name] = tuple(known)
    return found


def _describe_environment(grid: Grid, manifests: list[Manifest]) -> dict[str, str]:
    import psutil

    versions: dict[str, list[str]] = {}
    for manifest in manifests:
        for name, number in manifest.versions.items():
            numbers = versions.setdefault(name, [])
            if number not in numbers:
                numbers.append(number)
    memory = psutil.virtual_memory().total / 1e9
    facts = {name: " and ".join(numbers) for name, numbers in versions.items()}
    return facts | {
        "threads per cell": str(grid.study.threads),
        "seeds": ", ".join(map(str, dict.fromkeys(cell.seed for cell in grid.cells))),
        "attempts per cell": f"up to {grid.study.retries + 1}",
        "files of the study": ", ".join(place.name for place in grid.study.files),
        "machine of this report": (
            f"{platform.system()} {platform.machine()}, {count_cores()} cores, {memory:.0f} GB"
            " memory"
        ),
    }


def _describe_footprint(grid: Grid, root: Path, manifests: list[Manifest]) -> dict[str, str]:
    """Describe time, energy, CO2 and cloud cost of all steps that measured them."""
    parts = [one for made in manifests if (one := Footprint.from_dict(made.footprint))]
    total = sum_footprints(parts)
    measured = f"{len(parts):,} of {len(grid.steps):,}"
    if total is None:
        return {"measured steps": measured}
    rates = read_workspace_rates(root)
    low, high = compute_cost(total, rates)
    return {
        "measured steps": f"{measured} (word vectors, adapted models and cells; failed attempts are"
        " not measured)",
        "time": f"{total.seconds / 3600:.2f} h one after the other",
        "energy": f"an estimated {format_energy(total.kwh)}",
        "CO2": f"an estimated {format_co2(total.kg_co2)}",
        "basis": format_basis(total),
        "cloud cost": (
            f"USD {low:.2g} to {high:.2g} at USD {rates.usd_per_core_hour[0]:g} to"
            f" {rates.usd_per_core_hour[1]:g} per core-hour"
        ),
    }
