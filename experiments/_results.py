"""Read and write the measured cells of a benchmark (JSON, one cell per line)."""

import json
from pathlib import Path
from typing import Any

Cell = dict[str, Any]


def read_cells(path: Path) -> list[Cell]:
    """Return the cells that were measured; none if there is no file."""
    if not path.is_file():
        return []
    cells: list[Cell] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


def write_cells(path: Path, about: str | None, cells: list[Cell]) -> None:
    """Write cells; about: the docstring of the benchmark, whose first line is kept."""
    lines = ",\n".join(f"  {json.dumps(one)}" for one in cells)
    first = json.dumps((about or "").partition("\n")[0])
    temporary = path.with_suffix(".tmp")
    temporary.write_text(
        f'{{\n "about": {first},\n "cells": [\n{lines}\n ]\n}}\n', encoding="utf-8"
    )
    temporary.replace(path)
