"""Size and density of the source code, compared with those of exemplary codebases: `make shape`.

    python benchmarks/shape.py [--worst 10]

Statements are `ast.stmt` nodes without docstrings, so layout cannot change their number. Conditional
expressions and comprehensions are counted per 1 000 non-blank lines. Comments are lines with only a
comment, as a percentage of the lines with code or a comment. The complexity of a function is 1
plus its branches, loops, exception handlers, cases, conditional expressions and boolean operators;
nested functions count on their own.

These figures are for information. The figures of the budget have ceilings in .ci/shape.toml, which
tests/test_shape.py checks; see `measure_budget`.
"""

import argparse
import ast
import io
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST_LINE = 100
LONGEST_FUNCTION = 40
SENTENCE = 3  # words
EXPERIMENTS = (
    "vocadapt/lab/experiments/",
    "vocadapt/published/",
    "vocadapt/ui/parts/studies/",
    "vocadapt/ui/parts/search/",
    "vocadapt/ui/parts/published/",
    "vocadapt/cli/lab/studies.py",
    "vocadapt/cli/lab/search.py",
    "vocadapt/cli/lab/reproduce.py",
    "vocadapt/analysis/results/study_report.py",
    "vocadapt/analysis/figures/search.py",
)
HIGHEST_COMPLEXITY = 10
BRANCHES = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.match_case, ast.IfExp)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SKIPPED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}

# Measured by another script, which also counted comprehensions as complexity:
# code lines, comment-only lines, highest complexity. It gave densities as ranges only.
MODELS = {
    "minbpe": (299, 118, 12),
    "model2vec": (2054, 101, 12),
    "vicinity": (1262, 31, 15),
    "openTSNE": (2219, 169, 33),
    "httpx": (5773, 348, 46),
    "embedding-atlas": (2278, 117, 56),
}
RANGES = {"conditional": "1–11", "comprehensions": "2–14*", "long": "0–5"}


@dataclass
class Shape:
    """Counts of one file or of several."""

    statements: int = 0
    lines: int = 0  # non-blank
    code: int = 0  # with code on them, docstrings excluded
    comments: int = 0  # with a comment and nothing else
    long: int = 0  # over LONGEST_LINE characters
    conditionals: int = 0
    comprehensions: int = 0
    complexities: dict[str, int] = field(default_factory=dict)  # by file:line function

    def add(self, other: "Shape") -> None:
        """Add the counts of another file."""
        self.statements += other.statements
        self.lines += other.lines
        self.code += other.code
        self.comments += other.comments
        self.long += other.long
        self.conditionals += other.conditionals
        self.comprehensions += other.comprehensions
        self.complexities |= other.complexities

    def row(self, name: str) -> tuple[str, ...]:
        """Format the counts as a row of the table."""
        high = sum(value > HIGHEST_COMPLEXITY for value in self.complexities.values())
        return (
            name,
            f"{self.statements:,}",
            f"{self.lines:,}",
            f"{1000 * self.conditionals / max(self.lines, 1):.1f}",
            f"{1000 * self.comprehensions / max(self.lines, 1):.1f}",
            f"{100 * self.comments / max(self.code + self.comments, 1):.1f}",
            f"{100 * self.long / max(self.lines, 1):.1f}",
            f"{max(self.complexities.values(), default=0)}",
            f"{high:,} of {len(self.complexities):,}",
        )


def measure_source(source: str, name: str) -> Shape:
    """Count a source text; `name` identifies its functions."""
    tree = ast.parse(source)
    docstrings = set(find_docstrings(tree))
    nodes = list(ast.walk(tree))
    code, comments = classify_lines(source, docstrings)
    lines = [line for line in source.splitlines() if line.strip()]
    return Shape(
        statements=sum(isinstance(node, ast.stmt) and node not in docstrings for node in nodes),
        lines=len(lines),
        code=code,
        comments=comments,
        long=sum(len(line) > LONGEST_LINE for line in lines),
        conditionals=sum(isinstance(node, ast.IfExp) for node in nodes),
        comprehensions=sum(isinstance(node, COMPREHENSIONS) for node in nodes),
        complexities={
            f"{name}:{node.lineno} {node.name}": complexity_of(node)
            for node in nodes
            if isinstance(node, FUNCTIONS)
        },
    )


def find_docstrings(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield the docstring statements of a module, its classes and its functions."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            yield node.body[0]


def classify_lines(source: str, docstrings: set[ast.stmt]) -> tuple[int, int]:
    """Count the lines with code, docstrings excluded, and the lines with only a comment."""
    in_docstrings = set()
    for node in docstrings:
        in_docstrings |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code, comments = set(), set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        if token.type not in SKIPPED:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - in_docstrings), len(comments - code)


def complexity_of(function: ast.AST) -> int:
    """Compute the complexity of a function, nested functions excluded."""
    total = 1
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, FUNCTIONS):
            continue
        if isinstance(node, BRANCHES):
            total += 1
        if isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
        waiting += ast.iter_child_nodes(node)
    return total


def measure_budget(root: Path = ROOT) -> dict[str, float]:
    """Measure what .ci/shape.toml limits.

    statements, lines: of vocadapt/, pages/ and app.py; TOML, JSON and JavaScript below vocadapt/ count as
    lines. ui_lines; experiments_lines: studies, searches and published tables on all floors; test_lines.
    long_functions: above 40 lines. long_lines: percentage above 100 characters. tuple_assignments: of
    several values in one line, per 1,000 lines. tests_with_sentences: percentage of the test functions that
    assert a text of three words or more.
    """
    # 1. Files.
    sources = [*(root / "vocadapt").rglob("*.py"), *(root / "pages").rglob("*.py"), root / "app.py"]
    texts = {path: path.read_text(encoding="utf-8") for path in sources}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    data = [
        path
        for ending in ("toml", "json", "js")
        for path in (root / "vocadapt").rglob(f"*.{ending}")
    ]
    tests = {
        path: path.read_text(encoding="utf-8") for path in sorted((root / "tests").rglob("*.py"))
    }

    # 2. Statements, functions and lines.
    lines = {path: len(text.splitlines()) for path, text in texts.items()}
    n_lines = sum(lines.values())
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    n_docstrings = sum(len(list(find_docstrings(tree))) for tree in trees.values())
    functions = [node for node in nodes if isinstance(node, FUNCTIONS)]
    assigned = [node for node in nodes if isinstance(node, ast.Assign)]
    return {
        "statements": sum(isinstance(node, ast.stmt) for node in nodes) - n_docstrings,
        "lines": n_lines + sum(map(count_lines, data)),
        "ui_lines": sum(n for path, n in lines.items() if "vocadapt/ui/" in path.as_posix()),
        "experiments_lines": sum(n for path, n in lines.items() if is_experiment(path)),
        "test_lines": sum(len(text.splitlines()) for text in tests.values()),
        "long_functions": sum(
            (one.end_lineno or one.lineno) - one.lineno + 1 > LONGEST_FUNCTION for one in functions
        ),
        "long_lines": round(
            100
            * sum(len(line) > LONGEST_LINE for text in texts.values() for line in text.splitlines())
            / n_lines,
            2,
        ),
        "tuple_assignments": round(
            1000
            * sum(
                isinstance(one.targets[0], ast.Tuple) and isinstance(one.value, ast.Tuple)
                for one in assigned
            )
            / n_lines,
            1,
        ),
        "tests_with_sentences": round(100 * share_of_sentences(tests.values()), 1),
    }


def count_lines(path: Path) -> int:
    """Return the number of lines of a text file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def is_experiment(path: Path) -> bool:
    """Return whether a file is about studies, searches or published tables."""
    return any(part in path.as_posix() for part in EXPERIMENTS)


def share_of_sentences(sources: Iterable[str]) -> float:
    """Return the fraction of the test functions that assert a text of three words or more: in an
    assertion, or as the argument `match`.
    """
    tested, with_sentence = 0, 0
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, FUNCTIONS) or not node.name.startswith("test_"):
                continue
            tested += 1
            asserted = [one for one in ast.walk(node) if isinstance(one, ast.Assert)]
            matched = [one for one in ast.walk(node) if isinstance(one, ast.keyword)]
            places = [*asserted, *(one for one in matched if one.arg == "match")]
            texts = [
                text.value
                for place in places
                for text in ast.walk(place)
                if isinstance(text, ast.Constant) and isinstance(text.value, str)
            ]
            with_sentence += any(len(text.split()) >= SENTENCE for text in texts)
    return with_sentence / max(tested, 1)


def measure_rooms() -> dict[str, Shape]:
    """Measure vocadapt and pages, by folder."""
    rooms: dict[str, Shape] = {}
    for path in sorted([*(ROOT / "vocadapt").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]):
        parts = path.relative_to(ROOT).parts
        room = "/".join(parts[:2]) if len(parts) > 2 and parts[0] == "vocadapt" else parts[0]
        shape = measure_source(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
        rooms.setdefault(room, Shape()).add(shape)
    return rooms


def model_rows() -> Iterator[tuple[str, ...]]:
    """Format the figures of the model codebases as rows of the table."""
    for name, (code, comments, highest) in MODELS.items():
        share = f"{100 * comments / (code + comments):.1f}"
        yield (name, "", "", "", "", share, "", str(highest), "")
    ranges = (RANGES["conditional"], RANGES["comprehensions"], "", RANGES["long"])
    yield ("range of these", "", "", *ranges, "", "")


def print_table(rows: list[tuple[str, ...]]) -> None:
    """Print rows in aligned columns, names to the left and figures to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join(cells).rstrip())


def main() -> None:
    parser = argparse.ArgumentParser(description="Print size and density of the source code.")
    parser.add_argument("--worst", type=int, default=10, metavar="N", help="functions to list")
    options = parser.parse_args()
    rooms = measure_rooms()
    whole = Shape()
    for shape in rooms.values():
        whole.add(shape)
    header = (
        "",
        "statements",
        "lines",
        "cond/1000",
        "compr/1000",
        "comments %",
        "> 100 %",
        "max complexity",
        f"over {HIGHEST_COMPLEXITY}",
    )
    target = ("target", "25,500", "", "15", "40", "3", "0", "10", "0")
    own = [shape.row(name) for name, shape in rooms.items()]
    print_table([header, whole.row("vocadapt + pages"), target, *own, *model_rows()])
    print("* minbpe 42")
    for name, value in measure_budget().items():
        print(f"{name}: {value:,}")
    worst = sorted(whole.complexities.items(), key=lambda item: -item[1])
    for name, value in worst[: options.worst]:
        print(f"{value:>3}  {name}")


if __name__ == "__main__":
    main()
