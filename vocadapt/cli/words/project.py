"""project: draw the words of a space, or of two, in the plane."""

import re
import time
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import add_model, add_out, choose_destination, write
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_settings
from vocadapt.cli.tables import format_facts
from vocadapt.errors import InputError
from vocadapt.lab.artifacts.open_space import open_space
from vocadapt.lab.artifacts.projection_files import check_export_path, export_projection
from vocadapt.lab.steps.projection import ProjectionStep, compute_projection, summarize_projection
from vocadapt.lab.steps.spec import Spec
from vocadapt.progress import Progress

FILE = re.compile(r"\.[A-Za-z]{2,8}")  # suffixes of files, in contrast to folders


def _add_options(parser: Parser) -> None:
    add_model(parser, required=False, help="hub name or model folder whose wordpieces are shown")
    parser.add_argument("--vectors", metavar="DIR", help="word vectors to show")
    parser.add_argument(
        "--other", metavar="M|DIR", help="second space; only shared words are shown"
    )
    add_settings(parser, ProjectionStep)
    add_out(parser)


def _project(options: Namespace, progress: Progress) -> Answer:
    start = time.perf_counter()
    if bool(options.model) == bool(options.vectors):
        raise InputError(
            "A projection shows the wordpieces of a model or word vectors: give either --model or"
            " --vectors."
        )
    space, step = options.model or options.vectors, read_settings(options, ProjectionStep)
    if options.out is None or not FILE.fullmatch(Path(options.out).suffix):
        return _write_artifact(space, step, options, progress)
    choose_destination(options, "projections")
    check_export_path(Path(options.out), options.overwrite)
    offline = options.offline or None
    drawn = compute_projection(
        open_space(space, offline),
        open_space(options.other, offline) if options.other else None,
        step,
        progress,
    )
    export_projection(drawn, Path(options.out), options.overwrite)
    place = {"out": options.out, "seconds": time.perf_counter() - start}
    return Answer(
        {**place, "settings": asdict(step), **summarize_projection(drawn)},
        _render(summarize_projection(drawn), place),
    )


def _write_artifact(
    space: str, step: ProjectionStep, options: Namespace, progress: Progress
) -> Answer:
    inputs = {"space": space, **({"other": options.other} if options.other else {})}
    artifact = write(Spec("projection", step, inputs, options.offline), options, progress)
    manifest = artifact.manifest
    place = {
        "out": str(artifact.folder),
        "seconds": manifest.seconds,
        "manifest": str(artifact.folder / "manifest.json"),
    }
    return Answer(
        {**place, "settings": asdict(step), **manifest.numbers},
        _render(dict(manifest.numbers), place),
    )


def _render(numbers: dict[str, Any], place: dict[str, Any]) -> str:
    return format_facts(
        {key: value for key, value in {**numbers, **place}.items() if not isinstance(value, dict)}
    )


PROJECT = Command(_add_options, _project)
