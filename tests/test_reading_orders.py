"""The docstring of every package lists its modules in reading order."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "vocadapt"
FOLDERS = sorted(file.parent for file in PACKAGE.rglob("__init__.py"))
# Its steps are named by the registration order in the same file.
LISTED_IN_CODE = PACKAGE / "lab" / "steps"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(PACKAGE.parent)))
def test_a_package_names_every_module_in_it(folder: Path) -> None:
    source = (folder / "__init__.py").read_text(encoding="utf-8")
    text = ast.get_docstring(ast.parse(source)) or ""
    if folder == LISTED_IN_CODE:
        text = source
    named = set(re.findall(r"\w+", text))
    modules = {file.stem for file in folder.glob("*.py")} - {"__init__", "__main__"}
    packages = {file.parent.name for file in folder.glob("*/__init__.py")}
    assert (modules | packages) - named == set()
