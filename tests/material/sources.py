"""What tests of the source code read in it."""

import ast


def list_strings(source: str) -> list[tuple[int, str]]:
    """Return (line, text) of each string of a module that is not a docstring."""
    tree = ast.parse(source)
    documented = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documented
    ]
