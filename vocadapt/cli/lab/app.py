"""app, and the hidden command that is a job's process."""

import logging
import os
import sys
import warnings
from argparse import Namespace
from pathlib import Path

import vocadapt
from vocadapt.cli.command import Answer, Command
from vocadapt.cli.parser import Parser, whole
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.progress import Progress


def _add_app_options(parser: Parser) -> None:
    parser.add_argument(
        "--workspace",
        metavar="W",
        default="workspace",
        help="workspace folder (default ./workspace)",
    )
    parser.add_argument(
        "--port",
        type=whole(1, 65_535),
        metavar="N",
        help="port to serve on (default 8501, or the next free one)",
    )
    parser.add_argument(
        "--address",
        metavar="A",
        help="network address to serve on (default: 127.0.0.1, this machine only)",
    )
    parser.add_argument(
        "--files-root",
        metavar="DIR",
        help="folder whose files the pages may open, with another --address",
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser window")


def _serve(options: Namespace, progress: Progress) -> Answer:
    """Replace this process with the server; the CLI does not import the pages."""
    command = [
        sys.executable,
        "-m",
        "vocadapt.ui.serving.server",
        "--workspace",
        str(Workspace(Path(options.workspace)).root),
    ]
    command += ["--port", str(options.port)] if options.port is not None else []
    command += ["--address", options.address] if options.address is not None else []
    command += ["--files-root", options.files_root] if options.files_root is not None else []
    command += ["--no-browser"] if options.no_browser else []
    package = str(Path(vocadapt.__file__).parents[1])
    paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    sys.stderr.flush()
    os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": paths})


def _add_job_options(parser: Parser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="folder of a job")


def _run_job(options: Namespace, progress: Progress) -> Answer:
    from vocadapt.lab.jobs.worker import run_job

    logging.basicConfig(
        force=True, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s"
    )
    logging.getLogger("vocadapt").setLevel(logging.INFO)
    logging.captureWarnings(True)
    warnings.simplefilter("default")
    code = run_job(Path(options.folder))
    return Answer({"exit": code}, f"exit {code}", code)


APP = Command(_add_app_options, _serve)
JOB = Command(_add_job_options, _run_job)
