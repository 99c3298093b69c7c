"""Scores by the size of exBERT's module and by hours of pretraining (Tai et al. 2020, figures 2 and
3), and by number of epochs (Fast 2023, figure 6.1), as values for a figure.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vocadapt.published.tables import PublishedTable

NUMBERS = {  # plot of a table → the number in the names of its columns
    "module sizes": re.compile(r"(\d+(?:\.\d+)?) %"),  # of a layer
    "hours": re.compile(r"(\d+) hrs"),
    "epochs": re.compile(r"(\d+) epochs"),
}


@dataclass(frozen=True)
class Disc:
    """A model: hours of pretraining on four V100, score, parameters in millions.

    diameter: of its disc, relative to the largest; areas are proportional to parameters.
    """

    name: str
    hours: float
    score: float
    parameters: float
    diameter: float


def list_curves(table: PublishedTable) -> dict[str, list[tuple[float, float]]]:
    """Return the values at hand of a table with one of the plots of NUMBERS: row → number of the
    column and score, for each column. The number is 0 for a column without one, such as that
    without a module.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    for cell in table.cells:
        if cell.number is not None:
            found = NUMBERS[table.plot].fullmatch(cell.column)
            x = float(found[1]) if found else 0.0
            curves.setdefault(cell.row, []).append((x, cell.number))
    return curves


def list_discs(table: PublishedTable) -> tuple[Disc, ...]:
    """Return the models of a table with score, hours and parameters as columns, such as exbert-2b.

    Models without all three are left out.
    """
    found: list[tuple[str, Sequence[float]]] = []
    for row in table.row_names:
        cells = [table.grid[row, column].number for column in table.column_names]
        numbers = [number for number in cells if number is not None]
        if len(numbers) == len(cells):
            found.append((row, numbers))
    largest = max((parameters for _, (_, _, parameters) in found), default=1.0)
    return tuple(
        Disc(name, hours, score, parameters, math.sqrt(parameters / largest))
        for name, (score, hours, parameters) in found
    )
