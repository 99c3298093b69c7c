"""Blocks about a study: the estimate and Start, failures, the table, and the file."""

from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from vocadapt.analysis.results.results import TaskLeaderboard
from vocadapt.errors import InputError
from vocadapt.lab.experiments.studies.estimates import GridEstimate, estimate_energy, estimate_grid
from vocadapt.lab.experiments.studies.places import check_place, count_workers
from vocadapt.lab.experiments.studies.report import ENDINGS, render_report
from vocadapt.lab.experiments.studies.saved import FILE, find_study_file, read_text
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.experiments.studies.table import (
    COLUMNS,
    build_boards,
    build_rows,
    describe_collapsed,
    describe_rows,
)
from vocadapt.lab.steps.guards import LONG
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.report.csv_files import write_csv
from vocadapt.report.table import Table
from vocadapt.system.footprint import format_basis, format_co2, format_energy
from vocadapt.ui.components import mistakes
from vocadapt.ui.components.blocks import (
    Download,
    draw_artifact_details,
    draw_downloads,
    draw_heading,
    draw_note,
)
from vocadapt.ui.components.setting_inputs import draw_setting
from vocadapt.ui.components.tables import draw_report
from vocadapt.ui.jobs import guards, panel
from vocadapt.ui.parts.studies.form import start_editing
from vocadapt.ui.parts.studies.opened import OpenedStudy
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count, count_noun, format_forecast, megabytes

MAX_FAILURES = 20  # that are listed
MAX_COMPUTED = 100  # finished cells whose table is computed without a click


def draw_without_grid(workspace: Workspace, study: Artifact, error: InputError) -> None:
    """Draw a study whose file is gone or cannot be read: why, the rows of its last run, and the
    file to correct.
    """
    st.warning(plain(mistakes.format_in_one_line(error)), icon=":material/warning:")
    rows = read_rows(study)
    if rows:
        draw_heading("Table of its last run")
        table = Table(study.name, COLUMNS, rows)
        draw_report(table)
        draw_downloads({f"{study.name}.csv": write_csv([table])})
    draw_details(study, find_study_file(study, workspace), is_open=True)


def draw_start(workspace: Workspace, found: OpenedStudy) -> None:
    """Draw the estimate for the remaining cells of a study, and the button that starts it."""
    if not found.n_left:
        return
    grid = found.grid
    # 1. The settings, and the estimate.
    with st.container(horizontal=True, vertical_alignment="bottom"):
        workers = draw_setting(st, StudyStep, "workers", "studies_workers", width=220)
        with st.popover("More settings", icon=":material/tune:"):
            on = draw_setting(st, StudyStep, "on", "studies_on")
        settings = StudyStep(on=check_place(on), workers=workers)
        used = count_workers(settings.workers, grid.study)
    is_long = False
    try:
        cost = _estimate(found.stamp, used, found)
    except InputError as error:  # a cell cannot be read; the others can run
        draw_note(f"The time cannot be estimated: {plain(mistakes.format_message(error.problem))}")
    else:
        is_long = cost.forecast.total_idle_seconds > LONG
        draw_estimate(cost, used, grid.study.threads)
        draw_energy(cost, grid.study.threads, found.root)
    # 2. What is known before it starts, and the button.
    spec = Spec(settings, {"file": (str(found.file),)})
    guards.draw_guards(workspace, spec)
    pressed = st.button(
        "Start" if found.n_left == len(found.states) else "Continue",
        key="studies_start",
        type="secondary" if is_long else "primary",
        icon=":material/play_arrow:",
    )
    if pressed:
        panel.start(workspace, spec, found.artifact.name)


@st.cache_data(max_entries=32, show_spinner="Estimating the time …")
def _estimate(stamp: str, workers: int, _found: OpenedStudy) -> GridEstimate:
    return estimate_grid(_found.grid, _found.root, workers)


def draw_estimate(cost: GridEstimate, workers: int, threads: int) -> None:
    """Draw the cells that are left, the time on the workers, and the disk space."""
    on = count_noun(workers, "worker")
    if threads > 1:
        on += f" with {count(threads)} threads each"
    written = "only predictions are written"
    if cost.bytes:
        written = f"about **{megabytes(cost.bytes)}** of models and the predictions are written"
    st.markdown(
        f"**{count(cost.cells)}** cell{'s' * (cost.cells != 1)} left · about"
        f" **{format_forecast(cost.forecast)}** on {on} · {written}"
    )


def draw_energy(cost: GridEstimate, threads: int, root: Path) -> None:
    """Draw energy and CO2 of the cells that are left, and where their time comes from.

    root: of the workspace whose rates hold.
    """
    energy = estimate_energy(cost, threads, root)
    draw_note(
        f"About {format_energy(energy.kwh)} and {format_co2(energy.kg_co2)}"
        f" ({plain(format_basis(energy))}). The time is estimated {cost.forecast.basis}."
    )


def draw_failures(found: OpenedStudy) -> None:
    """Draw the failed cells with their problems: seeds with the same problem in one line."""
    failed: dict[tuple[str, str, str], list[int]] = {}
    for one in found.states:
        if one.state == "failed":
            place = (one.cell.row, one.cell.task, one.problem)
            failed.setdefault(place, []).append(one.cell.seed)
    if not failed:
        return
    draw_heading("Failures")
    for (row, task, problem), seeds in list(failed.items())[:MAX_FAILURES]:
        where = f"{plain(row)} · {plain(task)} · seed{'s' * (len(seeds) > 1)}"
        where += f" {', '.join(map(str, seeds))}"
        message = mistakes.format_message(problem) or "ended without a result"
        st.markdown(f":material/error: **{where}**: {plain(message)}")
    draw_note("The other cells are not affected. *Continue* tries the failed ones again.")
    if len(failed) > MAX_FAILURES:
        draw_note(f"{count(MAX_FAILURES)} of {count(len(failed))} failures are shown.")


def draw_table_of(found: OpenedStudy, is_running: bool) -> None:
    """Draw the table of the cells that are finished, and its download."""
    n_finished = len(found.states) - found.n_left
    if not n_finished:
        return
    draw_heading("Table")
    # A large table takes long: for a running study, or many cells, the last table is drawn.
    grid, root = found.grid, found.root
    boards: tuple[TaskLeaderboard, ...] = ()
    is_computed = False
    if is_running:
        draw_note("The table is computed at the end of the study.")
    else:
        is_computed = n_finished <= MAX_COMPUTED or st.button(
            "Compute the table", key="studies_compute"
        )
    if is_computed:
        boards = _compute_boards(found.stamp, found)
        rows = build_rows(grid, root, boards)
    else:
        rows = read_rows(found.artifact)
        if not rows:
            return
        draw_note("This is the table of the last run.")
    table = describe_rows(rows, grid, boards)
    draw_report(table)
    collapsed = describe_collapsed(rows)
    for note in table.notes:
        if note == collapsed:
            st.warning(plain(note), icon=":material/warning:")
        else:
            draw_note(plain(note))
    name = found.artifact.name
    files: dict[str, Download | str | bytes] = {f"{name}.csv": write_csv([table])}
    # Reports are created on click.
    for form in ("html", "latex"):
        files[name + ENDINGS[form]] = partial(render_report, grid, root, form)
    draw_downloads(files)
    draw_note("CSV and LaTeX: the table. HTML: the report.")


@st.cache_resource(max_entries=16, show_spinner="Computing the table …")
def _compute_boards(stamp: str, _found: OpenedStudy) -> tuple[TaskLeaderboard, ...]:
    return build_boards(_found.grid, _found.root)


def read_rows(study: Artifact) -> list[dict[str, Any]]:
    """Return the rows that the manifest of a study holds, which are those of its last run."""
    names = {name for column in COLUMNS for name in column.names}
    given = study.manifest.numbers.get("rows") or []
    return [entry for entry in given if isinstance(entry, dict) and set(entry) == names]


def draw_details(study: Artifact, file: Path | None, is_open: bool = False) -> None:
    """Draw the file of a study with the button Edit, and the expander Details & export.

    is_open: whether the file is shown at first.
    """
    if file is not None:
        shown = st.expander("File of the study", icon=":material/description:", expanded=is_open)
        with shown, mistakes.show_errors():
            text = read_text(file)
            st.code(text, language="toml")
            if file == study.folder / FILE and st.button(
                "Edit this file",
                key="studies_edit",
                icon=":material/edit:",
                help="Copies the file into the form below. Only changed cells run again.",
            ):
                start_editing(text)
    draw_artifact_details(study)
