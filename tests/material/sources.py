"""What tests of the source code read in it. Files are read and parsed once for all of them."""

import ast
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def list_modules(*folders: str) -> list[Path]:
    """The Python files of the program, or of some of its folders."""
    if not folders:
        return [ROOT / "app.py", *list_modules("vocadapt", "pages")]
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


@cache
def read_source(path: Path) -> str:
    """The text of a file of the repository."""
    return path.read_text(encoding="utf-8")


@cache
def parse(source: str) -> ast.Module:
    """The tree of a source text; no test changes it."""
    return ast.parse(source)


@cache
def list_nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a tree."""
    return tuple(ast.walk(tree))


def check_files(check: Callable[[str], Iterable[object]], paths: Iterable[Path]) -> None:
    """Fail if a check finds something in the text of a file, with a line for each finding."""
    found = [
        f"{path.relative_to(ROOT)}: {finding}"
        for path in paths
        for finding in check(read_source(path))
    ]
    assert not found, "\n".join(found)


@cache
def list_strings(source: str) -> list[tuple[int, str]]:
    """Return (line, text) of each string of a module that is not a docstring."""
    documented = {
        node.body[0].value
        for node in list_nodes(parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        (node.lineno, node.value)
        for node in list_nodes(parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documented
    ]


def read_pins():
    """The pinned versions of requirements.txt by name."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pins}
