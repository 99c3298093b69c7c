"""Record what the commands answer and the pages show, to see that a change of the code changes neither.

    python -m tests.golden.record [--workspace DIR] [--commands] [--pages]

Works on the workspace of the demo, made anew in a temporary folder (or a copy of DIR). Writes
commands.json and pages.json beside this file; `git diff` then shows what differs. Paths, times, sizes
in memory and versions are masked, and numbers are rounded to four digits. Numbers of trainings are
those of one machine.
"""

import argparse
import html
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pandas

from vocadapt.cli import main as run_command

HERE = Path(__file__).parent
LISTED = 8  # items of a list that are kept
LONGEST = 2000  # characters of an element that are kept
EPOCH = 1e9  # larger numbers are seconds since 1970
TIMED = re.compile(r"second|minute|hour|_at$|^time|memory|^load|watt|energy|carbon|_wh|date", re.I)
TAG = re.compile(r"<[^>]*>")
MADE = re.compile(r"/[\w./-]+/[\w-]+(?=/(models|runs|tasks|vectors|projections|changes)/demo-)")
MASKS = (
    (re.compile(r"\d{8}-\d{6}-\d{6}"), "<job>"),
    (
        re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([+-]\d{2}:\d{2}|Z)?"),
        "<time>",
    ),
    (re.compile(r"\b[0-9a-f]{16,64}\b"), "<hash>"),
    (re.compile(r"\b\d+(\.\d+)? (s|ms|seconds?|minutes?|min|hours?|h|Wh|kWh)\b"), "<duration>"),
    (re.compile(r"\b(today|yesterday|just now|\d+ \w+ ago)\b"), "<time>"),
)


def make_demo(folder: Path, made: Path | None) -> Path:
    """Return a workspace of the demo that may be changed."""
    workspace = folder / "demo"
    if made is None:
        answer = io.StringIO()
        with redirect_stdout(answer), redirect_stderr(io.StringIO()):
            run_command(["demo", "--out", str(workspace), "--json"])
    else:
        shutil.copytree(made, workspace, symlinks=True)
    return workspace


def mask(value: Any, folder: Path, key: str = "") -> Any:
    """Return a JSON value without what differs from run to run."""
    if isinstance(value, dict):
        return {mask_text(str(k), folder): mask(v, folder, str(k)) for k, v in value.items()}
    if isinstance(value, list):
        shown = [mask(one, folder, key) for one in value[:LISTED]]
        return shown + [f"… {len(value)} in all"] * (len(value) > LISTED)
    if isinstance(value, str):
        return mask_text(value, folder)
    if isinstance(value, float | int) and not isinstance(value, bool) and TIMED.search(key):
        return "<measured>"
    if isinstance(value, float):
        return "<time>" if value > EPOCH else float(f"{value:.4g}")
    return value


def mask_text(text: str, folder: Path) -> str:
    """Return a text without paths, times and hashes."""
    text = MADE.sub("<folder>/demo", text.replace(str(folder), "<folder>"))
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    return text


def list_command_lines(workspace: Path, out: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each line of commands.txt, and its arguments with the places filled in."""
    models = workspace / "models"
    places = {
        "demo": workspace,
        "out": out,
        "bert": models / "demo-bert",
        "biomedical": models / "demo-biomedical-bert",
        "plain": models / "demo-plain-bert",
        "words": models / "demo-words-bert",
        "vectors": workspace / "vectors/demo-biomedical",
        "notes": next((workspace / "corpora/demo-notes/text").iterdir()),
        "gold": workspace / "tasks/demo-diseases/test.tsv",
    }
    for line in (HERE / "commands.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line, shlex.split(line.format(**places))


def record_commands(folder: Path, workspace: Path) -> dict[str, Any]:
    """Return the answer of each command by its line; of a failed one, its message."""
    answers: dict[str, Any] = {}
    os.chdir(folder)
    for line, arguments in list_command_lines(workspace, folder / "out"):
        expected_to_fail = arguments[0] == "!"
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = run_command([*arguments[expected_to_fail:], "--json"])
        if (status == 2) != expected_to_fail:
            sys.stderr.write(f"{line}\n  {err.getvalue().strip()}\n")
        text = out.getvalue()
        answer = json.loads(text) if text.strip() else err.getvalue().splitlines()
        answers[line] = {"status": status, "answer": mask(answer, folder)}
    return answers


def record_pages(workspace: Path) -> dict[str, list[str]]:
    """Return what each part of the pages shows, from top to bottom, by the name of the part."""
    from streamlit.testing.v1 import AppTest

    from vocadapt.ui.shell.server import ROOT, WORKSPACE_VARIABLE
    from vocadapt.ui.state.pages import PARTS, find_link

    os.environ[WORKSPACE_VARIABLE] = str(workspace)
    shown: dict[str, list[str]] = {}
    for part in PARTS:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300).run()
        if part != "home":
            page, parameters = find_link(part)
            for name, value in parameters.items():
                app.query_params[name] = value
            app.switch_page(page).run()
        shown[part] = [mask_text(line, workspace.parent) for line in list_elements(app.main)]
    return shown


def list_elements(node: Any) -> Iterator[str]:
    """Yield a line for each element below a node: its type, label, value, options and help."""
    children = getattr(node, "children", None)
    if children is None:
        yield describe_element(node)
        return
    label = getattr(node, "label", "")
    if label:
        yield f"{node.type}: {label}"
    for child in children.values():
        yield from list_elements(child)


def describe_element(element: Any) -> str:
    """Describe an element in a line."""
    proto = element.proto
    parts = [getattr(proto, "label", "")]
    value = getattr(element, "value", None)
    if isinstance(value, pandas.DataFrame):
        parts += [f"{len(value)} rows", value.head(LISTED).to_csv(index=False)]
    elif element.type == "html":
        parts.append(" ".join(html.unescape(TAG.sub(" ", proto.body)).split()))
    elif element.type == "plotly_chart":
        parts.append(proto.alt)
    else:
        parts.append(str(value or ""))
        parts += [str(one) for one in list(getattr(proto, "options", []))[:LISTED]]
    parts.append(getattr(proto, "help", ""))
    return f"{element.type}: {' | '.join(one for one in parts if one)}"[:LONGEST]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workspace", type=Path)
    parser.add_argument("--commands", action="store_true")
    parser.add_argument("--pages", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        workspace = make_demo(folder, options.workspace and options.workspace.resolve())
        (folder / "out").mkdir()
        # The pages first: some commands change the workspace.
        if options.pages or not options.commands:
            write("pages", record_pages(workspace))
        if options.commands or not options.pages:
            write("commands", record_commands(folder, workspace))


def write(name: str, found: dict[str, Any]) -> None:
    """Write a record."""
    text = json.dumps(found, indent=1, ensure_ascii=False)
    (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
