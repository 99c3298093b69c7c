"""Run the code cells of a notebook in this process, as Jupyter does.

The notebook uses no magic commands, so a kernel (ipykernel, nbclient and what they need) would add
nothing to the test but dependencies.
"""

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[2] / "docs" / "walk.ipynb"
SLOW = "slow"  # tag of cells that take seconds, and of those that need their results


def read_notebook(path: Path = NOTEBOOK) -> dict[str, Any]:
    """Read the JSON of a notebook."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


def list_code_cells(notebook: Mapping[str, Any], slow: bool = True) -> list[tuple[str, str]]:
    """Return id and source of each code cell; without `slow`, only of those that are not slow."""
    return [
        (cell["id"], "".join(cell["source"]))
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and (slow or SLOW not in cell["metadata"].get("tags", ()))
    ]


def run_cells(cells: list[tuple[str, str]], names: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Run cells one after the other in a namespace; yield id and shown text of each, "" for none."""
    for name, source in cells:
        tree = ast.parse(source, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
        exec(compile(tree, name, "exec"), names)
        value = None if last is None else eval(compile(last, name, "eval"), names)
        if value is None:
            yield name, ""
        elif hasattr(value, "_repr_html_"):
            yield name, f"{value!r}\n{value._repr_html_()}"
        else:
            yield name, repr(value)
