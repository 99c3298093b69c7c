"""demo."""

import shlex
import time
from argparse import Namespace
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.parser import Parser
from vocadapt.lab.demo import DemoStepResult, run_demo
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.progress import Progress


def _add_options(parser: Parser) -> None:
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder in which to keep the workspace (default: a temporary folder)",
    )


def _demo(options: Namespace, progress: Progress) -> Answer:
    start = time.perf_counter()
    with ExitStack() as stack:
        root = (
            Path(options.out)
            if options.out
            else Path(stack.enter_context(TemporaryDirectory(prefix="vocadapt-demo-")))
        )
        steps = list(run_demo(Workspace(root), progress))
    seconds = time.perf_counter() - start
    answer = {
        "out": options.out and str(root),
        "seconds": seconds,
        "steps": [asdict(step) for step in steps],
    }
    look = f"Look at it: python -m vocadapt app --workspace {shlex.quote(str(root))}"
    kept = look if options.out else "Nothing was kept: --out DIR keeps it."
    return Answer(answer, "\n".join([*map(_render_step, steps), f"{seconds:.0f} s in all. {kept}"]))


def _render_step(walked: DemoStepResult) -> str:
    lines = [f"{walked.step} ({walked.seconds:.1f} s): {walked.did}"]
    return "\n".join([*lines, *([f"    {walked.command}"] if walked.command else [])])


DEMO = Command(_add_options, _demo)
