"""The grid of a study: a row for each variant, a column for each task, a mark for each seed."""

from urllib.parse import urlencode

import streamlit as st

from vocadapt.lab.experiments.studies.states import STATES, CellState, count_states
from vocadapt.lab.experiments.studies.study_file import declare_training
from vocadapt.lab.workspace.manifest import read_manifest
from vocadapt.training.finetune.run_files import load_runs
from vocadapt.ui.components.blocks import draw_heading
from vocadapt.ui.components.word_links import listen
from vocadapt.ui.jobs import panel
from vocadapt.ui.parts.studies.opened import OpenedStudy
from vocadapt.ui.state import address
from vocadapt.ui.state.pages import PAGE_OF_PART, find_link
from vocadapt.ui.text.markup import SeedMark, draw_seed_grid, draw_seed_legend, plain
from vocadapt.ui.text.number_formats import count, count_noun

CLICKED = "studies_cell"  # the input that receives a click
SYMBOLS = {
    "done": "✓",
    "collapsed": "↓",
    "running": "▸",
    "failed": "✗",
    "interrupted": "‖",
    "waiting": "·",
}


def draw_grid(found: OpenedStudy) -> None:
    """Draw the grid of a study with its numbers and legend; a click opens the run of a cell, or the
    job of a cell without one.
    """
    grid = found.grid
    counts = count_states(found.states)
    draw_heading("Grid")
    st.markdown(describe_grid(found))
    # 1. The marks of each row and task, in the order of the file.
    name = address.name_study(found.artifact.name)
    marks: dict[tuple[str, str], list[SeedMark]] = {}
    for one in found.states:
        marks.setdefault((one.cell.row, one.cell.task), []).append(build_mark(one, name))
    rows = [(row, [marks.get((row, task), []) for task in grid.tasks]) for row in grid.rows]
    numbers = ", ".join(f"{count(number)} {state}" for state, number in counts.items())
    label = f"Cells of the study by variant and task: {numbers}"
    draw_seed_grid(grid.tasks, rows, label, CLICKED)
    # 2. The legend.
    draw_seed_legend(
        [
            (SeedMark(state, SYMBOLS[state], STATES[state]), f"{count(number)} {state}")
            for state, number in counts.items()
        ]
    )
    _open_clicked(found)


def describe_grid(found: OpenedStudy) -> str:
    """Describe the size of a study in one line (Markdown)."""
    grid = found.grid
    n_seeds = len({cell.seed for cell in grid.cells})
    parts = (
        count_noun(len(grid.rows), "variant"),
        count_noun(len(grid.tasks), "task"),
        count_noun(n_seeds, "seed"),
    )
    cells = count_noun(len(grid.cells), "cell")
    shared = ""
    if grid.study.settings:
        declared = declare_training()
        nouns = {"settings": "preset", **{key: one.noun for key, one in declared.items()}}
        given = [f"{nouns[key]} {value}" for key, value in grid.study.settings.items()]
        shared = f" Every cell: {plain(', '.join(given))}."
    return f"{' × '.join(parts)}, **{cells}**.{shared} A finished cell opens its run."


def build_mark(one: CellState, workspace: str) -> SeedMark:
    """Build the mark of a cell. workspace: the name of the study as a workspace."""
    cell = one.cell
    title = f"{cell.row} · {cell.task} · seed {cell.seed}: {one.state}"
    if one.state == "running" and one.fraction:
        title += f", {100 * one.fraction:.0f} %"
    if one.problem:
        title += f": {one.problem}"
    if one.state == "waiting":
        return SeedMark(one.state, SYMBOLS[one.state], title)
    part = "jobs"
    query = {panel.JOB: cell.step.name}
    if one.is_finished:  # its run is looked up when the cell is clicked
        part = "results"
        query = {}
    _, parameters = find_link(part, **query)
    page = PAGE_OF_PART[part].name
    link = urlencode({**parameters, address.WORKSPACE: workspace}, doseq=True)
    return SeedMark(one.state, SYMBOLS[one.state], title, cell.step.name, f"{page}?{link}")


def _open_clicked(found: OpenedStudy) -> None:
    """Open the run or job of the cell that was clicked."""
    listen(CLICKED, lambda name: st.session_state.update({CLICKED: name}))
    clicked = st.session_state.pop(CLICKED, "")
    for one in found.states:
        if one.cell.step.name == clicked and one.state != "waiting":
            workspace = address.name_study(found.artifact.name)
            part = "results" if one.is_finished else "jobs"
            address.go_to(part, **{address.WORKSPACE: workspace, **find_query(one, found)})


def find_query(one: CellState, found: OpenedStudy) -> dict[str, str]:
    """Return the query parameters that select a cell on its part."""
    if not one.is_finished:
        return {panel.JOB: one.cell.step.name}
    folder = one.cell.step.find_folder(found.root)
    numbers = read_manifest(folder).numbers
    called = [run.called for run in load_runs(folder)][:1]
    shown = " · ".join(filter(None, (folder.name, *called, str(numbers.get("tokenization", "")))))
    return {
        "results_task": str(numbers.get("task", "")),
        "results_run": folder.name,
        "results_confused": shown,
    }
