"""The docstring of every package lists its modules in reading order."""

import ast
import re
from pathlib import Path

from tests.material.cases import check_each
from tests.material.sources import parse

PACKAGE = Path(__file__).parents[1] / "vocadapt"
FOLDERS = sorted(file.parent for file in PACKAGE.rglob("__init__.py"))
# Its steps are named by the registration order in the same file.
LISTED_IN_CODE = PACKAGE / "lab" / "steps"


@check_each("folder", FOLDERS)
def test_a_package_names_every_module_in_it(folder: Path) -> None:
    source = (folder / "__init__.py").read_text(encoding="utf-8")
    text = ast.get_docstring(parse(source)) or ""
    if folder == LISTED_IN_CODE:
        text = source
    named = set(re.findall(r"\w+", text))
    modules = {file.stem for file in folder.glob("*.py")} - {"__init__", "__main__"}
    packages = {file.parent.name for file in folder.glob("*/__init__.py")}
    assert (modules | packages) - named == set()
