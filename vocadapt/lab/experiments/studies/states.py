"""The states of a study's cells, read from its folder."""

from dataclasses import dataclass
from pathlib import Path

from vocadapt.lab.experiments.studies.cell_step import CellStep
from vocadapt.lab.experiments.studies.grid import Cell, Grid
from vocadapt.lab.experiments.studies.runner import is_collapsed
from vocadapt.lab.jobs.job import SPEC, Job

STATES = {  # state → what it means
    "done": "finished",
    "collapsed": "finished, but never better than always predicting the most frequent answer, on the dev"
    " split or, without one, on training examples",
    "running": "being computed",
    "failed": "ended without a result",
    "interrupted": "stopped; continues from its checkpoint when the study runs again",
    "waiting": "not started",
}
FINISHED = ("done", "collapsed")


@dataclass(frozen=True)
class CellState:
    """A cell, its state (a key of STATES), the fraction that is done if it runs, its problem."""

    cell: Cell
    state: str
    fraction: float | None = None
    problem: str = ""

    @property
    def is_finished(self) -> bool:
        """Whether it has a result."""
        return self.state in FINISHED


def find_states(grid: Grid, root: Path) -> tuple[CellState, ...]:
    """Return the state of every cell, in the order of the file."""
    found = []
    for cell in grid.cells:
        state, fraction, problem = find_step_state(cell.step, root)
        if state == "done" and is_collapsed(cell.step, root):
            state = "collapsed"
        found.append(CellState(cell, state, fraction, problem))
    return tuple(found)


def find_step_state(step: CellStep, root: Path) -> tuple[str, float | None, str]:
    """Return the state of a step, the fraction that is done, and why it failed."""
    if step.is_whole(root):
        return "done", 1.0, ""
    folder = root / "jobs" / step.name
    if not (folder / SPEC).is_file():
        return "waiting", None, ""
    status = Job(folder).status()
    if status.state in ("canceled", "interrupted"):
        return "interrupted", status.fraction, ""
    return status.state, status.fraction, status.error


def count_states(states: tuple[CellState, ...]) -> dict[str, int]:
    """Return state → number of cells, in the order of STATES; states without cells are left out."""
    counts = {name: sum(one.state == name for one in states) for name in STATES}
    return {name: count for name, count in counts.items() if count}
