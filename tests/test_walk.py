"""docs/walk.ipynb: every cell runs on the demo's data, and shows something short."""

import ast
import re
import textwrap

import pytest

from tests.material.notebooks import NOTEBOOK, list_code_cells, read_notebook, run_cells

HEADINGS = (
    *("A model", "Count the words", "Word vectors", "Align", "Neighbors", "Plan"),
    *("Initialize", "Adapt", "Certify", "Load", "help on a task"),
)


def test_the_notebook_is_well_formed():
    notebook = read_notebook()
    cells = notebook["cells"]
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in cells:
        assert cell["cell_type"] in ("markdown", "code")
        if cell["cell_type"] == "code":  # outputs are not stored: they would go out of date
            assert cell["outputs"] == [] and cell["execution_count"] is None
    for _, source in list_code_cells(notebook):
        assert len(source.splitlines()) <= 10, source
        assert all(len(line) <= 100 for line in source.splitlines())
    text = "\n".join("".join(one["source"]) for one in cells if one["cell_type"] == "markdown")
    titles = re.findall(r"^## (.*)", text, re.M)
    assert all(any(part in title for title in titles) for part in HEADINGS)
    for file in re.findall(r"\]\((\w+\.md)\)", text):
        assert (NOTEBOOK.parent / file).is_file()


def test_cells_that_are_not_slow_run():
    notebook = read_notebook()
    names = {"__name__": "__main__"}
    shown = dict(run_cells(list_code_cells(notebook, slow=False), names))
    check_outputs(shown)
    assert not names["OUT"].exists()  # the last cell removed it
    # The imports of the other cells, too.
    for name, source in list_code_cells(notebook):
        for statement in ast.parse(source).body:
            if name not in shown and isinstance(statement, ast.ImportFrom):
                exec(ast.unparse(statement), {})


@pytest.mark.slow
def test_all_cells_run():
    names = {"__name__": "__main__"}
    shown = dict(run_cells(list_code_cells(read_notebook()), names))
    check_outputs(shown)
    assert names["certificate"].passed
    assert names["quality"].verdict != "chance"
    assert len(names["adapted"].plan.added) == 3000
    assert names["tokenizer"].tokenize("tachycardia") == ["tachycardia"]
    assert "arrhythmias" in "".join(shown.values())
    assert not names["OUT"].exists()


def check_outputs(shown):
    """Every output is short enough to be read."""
    assert sum(bool(text) for text in shown.values()) >= 10
    for name, text in shown.items():
        line = text.split("\n")[0]
        assert len(line) < 1000, f"{name}: {textwrap.shorten(line, 200)}"
        assert len(text) < 12_000
