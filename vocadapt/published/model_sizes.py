"""Scores by the size of exBERT's module and by hours of pretraining (Tai et al. 2020, figures 2 and 3),
and by number of epochs (Fast 2023, figure 6.1), as values for a figure.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vocadapt.published.tables import PublishedTable

PERCENT = re.compile(r"(\d+(?:\.\d+)?) %")
HOURS = re.compile(r"(\d+) hrs")
EPOCHS = re.compile(r"(\d+) epochs")


@dataclass(frozen=True)
class Point:
    """A score. x: module size in percent of a layer, hours, or epochs. series: the model (and seed)
    that it belongs to.
    """

    series: str
    x: float
    score: float


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


def list_module_points(table: PublishedTable) -> tuple[Point, ...]:
    """Return the scores of a table with module sizes as columns, such as exbert-1; the column
    without a module is at 0.
    """
    return _list_points(table, PERCENT)


def list_hour_points(table: PublishedTable) -> tuple[Point, ...]:
    """Return the scores of a table with hours as columns, such as exbert-2a."""
    return _list_points(table, HOURS)


def list_epoch_points(table: PublishedTable) -> tuple[Point, ...]:
    """Return the scores of a table with numbers of epochs as columns, such as fast-figure-6.1."""
    return _list_points(table, EPOCHS)


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


def _list_points(table: PublishedTable, pattern: re.Pattern[str]) -> tuple[Point, ...]:
    """Return the cells at hand, with the number in the name of their column, 0 if it has none."""
    points = []
    for cell in table.cells:
        found = pattern.fullmatch(cell.column)
        if cell.number is not None:
            points.append(Point(cell.row, float(found[1]) if found else 0.0, cell.number))
    return tuple(points)
