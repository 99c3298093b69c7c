"""Change the code of plans, scorers and certificate in one place at a time: a test must fail.

mutmut makes and tests the mutants in a copy of the checkout (build/mutants), with the settings of
pyproject.toml. It never changes what a decorator wraps, so in the copy each property calls a method
with its code. `mutmut show NAME`, run there, shows a mutant.
"""

import argparse
import ast
import json
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from difflib import ndiff
from fnmatch import fnmatch
from math import sqrt
from pathlib import Path

REQUIRED = 0.85  # fraction of the mutants of each area that tests must kill
AREAS = {
    "plan": "vocadapt/vocabulary/plan/*",
    "scoring": "vocadapt/training/*",
    "certificate": "vocadapt/models/certificate/*",
}
STATES = {0: "survived", 5: "untested", 33: "untested", None: "unchecked"}
TIMEOUTS = (-24, 24, 36, 152, 255, -9)
PLUGIN = "mutant_tests.py"
EQUIVALENT = Path(".ci/equivalent_mutants.txt")

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "build" / "mutants"
MUTMUT = [sys.executable, "-m", "mutmut"]
PROPERTY = re.compile(r"( +)(@(?:cached_)?property)\n +def (\w+)\(self\) -> (.+):\n")
OUTLINED = (
    r"\1\2\n\1def \3(self) -> \4:\n\1    return self.read_\3()\n\n\1def read_\3(self) -> \4:\n"
)


def copy_checkout() -> None:
    """Copy the files that git knows; only files that changed are written, so that results stay."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = ROOT / name, COPY / name
        if not source.is_file():
            continue
        content = source.read_bytes()
        if any(fnmatch(name, area) for area in AREAS.values()):
            text = PROPERTY.sub(OUTLINED, content.decode())
            content = re.sub(r"@lru_cache\(.*\)\n", "", text).encode()
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            shutil.copymode(source, target)
            (COPY / "mutants" / name).unlink(missing_ok=True)


def list_mutants() -> dict[str, int | None]:
    """Make the mutants in the copy; return what is known of each: the exit code of its tests."""
    make = "from mutmut.__main__ import *; copy_src_dir(); create_mutants(2)"
    (COPY / "mutants").mkdir(exist_ok=True)
    subprocess.run([sys.executable, "-c", make], cwd=COPY, check=True, stdout=subprocess.DEVNULL)
    return read_results()


def read_results() -> dict[str, int | None]:
    """Return the exit code of the tests of every mutant, None before they run."""
    found: dict[str, int | None] = {}
    for path in sorted((COPY / "mutants" / "vocadapt").rglob("*.py.meta")):
        found.update(json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"])
    return found


def choose(names: Iterable[str], per_file: int, patterns: list[str]) -> list[str]:
    """Return the mutants that fit a pattern, of each file at most a random sample; the seed is
    fixed.
    """
    by_file: dict[str, list[str]] = {}
    for name in sorted(names):
        if any(fnmatch(name, pattern) for pattern in patterns or ["*"]):
            by_file.setdefault(find_file(name), []).append(name)
    chosen: list[str] = []
    for file, own in by_file.items():
        chosen += random.Random(file).sample(own, min(per_file or len(own), len(own)))
    return chosen


def find_file(name: str) -> str:
    """Return the file of a mutant."""
    return name.rpartition(".")[0].replace(".", "/") + ".py"


def read_change(name: str) -> tuple[str, str]:
    """Return the changed lines of a mutant, before and after, without the spaces around them."""
    path, function = COPY / "mutants" / find_file(name), name.rpartition(".")[2]
    source = path.read_text(encoding="utf-8")
    lines, original = source.splitlines(), function.rpartition("__mutmut_")[0] + "__mutmut_orig"
    found = {
        node.name: lines[node.lineno : node.end_lineno]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name.endswith((function, original))
    }
    before, after = (
        next(body for one, body in found.items() if one.endswith(end))
        for end in (original, function)
    )
    changes = [line for line in ndiff(before, after) if line[0] in "+-"]
    old, new = (" ".join(line[2:].strip() for line in changes if line[0] == sign) for sign in "-+")
    return old, new


def read_equivalent() -> set[str]:
    """Return the changes that no test can see; comments give the reasons."""
    lines = (ROOT / EQUIVALENT).read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def compute_interval(killed: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a fraction by Wilson's formula."""
    z, rate = 1.96, killed / total
    middle = (rate + z * z / (2 * total)) / (1 + z * z / total)
    spread = z / (1 + z * z / total) * sqrt(rate * (1 - rate) / total + z * z / (4 * total**2))
    return middle - spread, middle + spread


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="mutants of each file; 0 for all")
    parser.add_argument("--list", action="store_true", help="count the mutants, test none")
    parser.add_argument("patterns", nargs="*", help="names of mutants, such as *.planning.*")
    given = parser.parse_args()
    copy_checkout()
    every = list_mutants()
    chosen = choose(every, given.sample, given.patterns)
    print(f"{len(chosen):,} of {len(every):,} mutants")
    if given.list:
        print(*(f"{n:6} {file}" for file, n in Counter(map(find_file, chosen)).items()), sep="\n")
        return 0
    shutil.copy(ROOT / ".ci" / PLUGIN, COPY / "mutants" / PLUGIN)
    with (COPY / "log.txt").open("w", encoding="utf-8") as log:
        command = [*MUTMUT, "run", "--max-children", "2", *chosen]
        code = subprocess.run(command, cwd=COPY, stdout=log, stderr=log).returncode
    if code:
        print(f"mutmut failed; its output is in {COPY / 'log.txt'}")
        return code
    return report(chosen, every)


def report(chosen: list[str], every: dict[str, int | None]) -> int:
    """Print each survivor, and a line for each file and area; return 1 below the required rate."""
    results, equivalent = read_results(), read_equivalent()
    states: dict[str, Counter[str]] = {}
    for name in chosen:
        code = results[name]
        state = "timeout" if code in TIMEOUTS else STATES.get(code, "killed")
        if state in ("survived", "untested"):
            change = " => ".join(read_change(name))
            if change in equivalent:
                state = "equivalent"
            else:
                print(f"{state} {name}\n    {change}")
        states.setdefault(find_file(name), Counter())[state] += 1

    # A sample has as many mutants of each file, so the rate of an area weighs the files.
    of_file, too_low = Counter(map(find_file, every)), False
    for area, pattern in AREAS.items():
        files = [file for file in states if fnmatch(file, pattern)]
        for file in files:
            print(f"{describe(states[file])}, of {of_file[file]:,} in {file}")
        if not files:
            continue
        total = sum(of_file[file] for file in files)
        rate = sum(of_file[file] / total * compute_rate(states[file]) for file in files)
        counts = sum((states[file] for file in files), Counter[str]())
        print(f"{area}: {rate:.1%} killed by size of the files, {describe(counts)}, of {total:,}")
        too_low = too_low or rate < REQUIRED
    return int(too_low)


def compute_rate(counts: Counter[str]) -> float:
    """Return the fraction of killed mutants; 1 if no test could kill one."""
    return count_killed(counts) / count_tested(counts) if count_tested(counts) else 1.0


def count_killed(counts: Counter[str]) -> int:
    """Count the mutants that tests kill, or that never end."""
    return counts["killed"] + counts["timeout"]


def count_tested(counts: Counter[str]) -> int:
    """Count the mutants that a test could kill."""
    return counts.total() - counts["equivalent"]


def describe(counts: Counter[str]) -> str:
    """Describe the mutants of a file or an area in a line."""
    killed, tested = count_killed(counts), max(count_tested(counts), 1)
    low, high = compute_interval(killed, tested)
    states = ", ".join(f"{counts[state]} {state}" for state in sorted(counts))
    return f"{killed / tested:6.1%} ({low:.0%}-{high:.0%}) killed: {states}"


if __name__ == "__main__":
    sys.exit(main())
