"""Run benchmarks, keep their figures in `benchmarks/results`, and write docs/benchmarks.md from them.

    python -m benchmarks [NAME …] [--full] [--table]

Run nothing else on the machine. A figure that was measured while other processes worked is marked
as not quiet, and never replaces a quiet one. --table only writes the page.
"""

import argparse
import ast
import json
import os
import platform
import re
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks._figures import QUIET, Figure

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
PACKAGES = ("torch", "transformers", "streamlit", "gensim", "numpy", "scikit-learn", "numba")
NOT_BENCHMARKS = ("shape",)  # the size of the code: `make shape`
LIMIT = 180  # seconds of a benchmark without --full
HEAD = """# Benchmarks

`python -m benchmarks NAME` runs a benchmark and compares it with a baseline of the same run; `make bench` runs all of them.
Each file begins with what it measures. Most need public texts that are not part of vocadapt. *Experiments* (below) are not
benchmarks: they compare methods and take hours.

This page is written by `python -m benchmarks --table` from `benchmarks/results`. A value is the median of several rounds,
with their range. *Not quiet*: other processes used more than {quiet:g} of a processor core in the ten seconds before the
benchmark or during it; such a figure is replaced by the next quiet one.
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = list_benchmarks()
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"benchmarks (default: all): {', '.join(names)}"
    )
    parser.add_argument("--full", action="store_true", help="also measure what takes longer")
    parser.add_argument("--table", action="store_true", help="only write docs/benchmarks.md")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    failed = (
        []
        if options.table
        else [name for name in options.names or names if not run_benchmark(name, options.full)]
    )
    PAGE.write_text(write_page(), encoding="utf-8")
    if failed:
        print(f"ended by an error or too long: {', '.join(failed)}")
    return int(bool(failed))


def list_benchmarks() -> list[str]:
    """Return the names of all benchmarks."""
    found = sorted(path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py"))
    return [name for name in found if name not in NOT_BENCHMARKS]


def run_benchmark(name: str, full: bool) -> bool:
    """Run a benchmark in its own process and keep its figures; return whether it ended well."""
    print(f"== {name}", flush=True)
    RESULTS.mkdir(exist_ok=True)
    new = RESULTS / f"{name}.new"
    command = [sys.executable, "-m", f"benchmarks.{name}", "--json", str(new)]
    command += ["--full"] * full
    # Users' programs are compiled once, not at each start.
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        process.wait(None if full else LIMIT)
    except subprocess.TimeoutExpired:
        print(f"stopped after {LIMIT} s")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # also the servers that it started
        process.wait()
    if not new.is_file():
        return False
    answer = json.loads(new.read_text(encoding="utf-8"))
    new.unlink()
    keep(RESULTS / f"{name}.json", answer | describe_machine())
    return True


def keep(path: Path, answer: dict[str, Any]) -> None:
    """Write figures, unless they are not quiet and the earlier ones are."""
    if path.is_file() and answer["other_load"] > QUIET:
        earlier = json.loads(path.read_text(encoding="utf-8"))
        if earlier["other_load"] <= QUIET:
            print("not kept: the earlier figures are from a quiet machine")
            return
    path.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


def describe_machine() -> dict[str, Any]:
    """Return the commit, the date, the machine and the versions, as stored with the figures."""
    head = ["git", "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(head, cwd=ROOT, capture_output=True, text=True, check=False)
    return {
        "commit": commit.stdout.strip(),
        "date": date.today().isoformat(),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def write_page() -> str:
    """Return the page of all figures."""
    lines = [HEAD.format(quiet=QUIET), "| benchmark | measures | figures |", "|---|---|---|"]
    for name in list_benchmarks():
        lines.append(
            f"| `{name}` | {read_title(ROOT / 'benchmarks' / f'{name}.py')} | {write_figures(name)} |"
        )
    lines += ["", "## Experiments", ""]
    lines += [
        "`python -m experiments.NAME` repeats one.",
        "",
        "| file | measures | figures |",
        "|---|---|---|",
    ]
    for path in sorted((ROOT / "experiments").glob("[a-z]*.py")):
        figures = ", ".join(find_pages(path.stem)) or read_measured(path)
        lines.append(f"| `{path.stem}` | {read_title(path)} | {figures} |")
    return "\n".join(lines) + "\n"


def read_paragraphs(path: Path) -> list[str]:
    """Return the paragraphs of the docstring of a file, each in one line."""
    document = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return [" ".join(one.split()).replace("|", "\\|") for one in document.split("\n\n")]


def read_title(path: Path) -> str:
    """Return what a file measures."""
    return read_paragraphs(path)[0]


def read_measured(path: Path) -> str:
    """Return the figures that the docstring of an experiment states."""
    found = [one for one in read_paragraphs(path) if one.startswith("Measured")]
    return found[0] if found else "printed only"


def find_pages(experiment: str) -> list[str]:
    """Return links to the pages that name an experiment."""
    named = re.compile(rf"experiments[./]{experiment}\b")
    pages = sorted(path for path in PAGE.parent.glob("*.md") if path != PAGE)
    return [
        f"[{path.stem}]({path.name})" for path in pages if named.search(path.read_text("utf-8"))
    ]


def write_figures(name: str) -> str:
    """Return the figures of a benchmark as a cell of the table."""
    path = RESULTS / f"{name}.json"
    if not path.is_file():
        return "not measured"
    answer = json.loads(path.read_text(encoding="utf-8"))
    figures = [
        Figure(**{key: tuple(v) if isinstance(v, list) else v for key, v in one.items()}).describe()
        for one in answer["figures"]
    ]
    where = f"{answer['date']}, {answer['cores']} cores, {answer['commit']}"
    if answer["other_load"] > QUIET:
        where += f", **not quiet**: other processes used {answer['other_load']:g} cores"
    return "<br>".join([*figures, where]).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
