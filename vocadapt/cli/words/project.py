"""project: draw the words of a space, or of two, in the plane."""

import re
import time
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vocadapt.cli.options import add_model, add_out, choose_destination, write
from vocadapt.cli.parser import Parser, setting
from vocadapt.cli.run import Answer, Command
from vocadapt.cli.tables import format_facts
from vocadapt.errors import InputError
from vocadapt.lab.artifacts.open_space import open_space
from vocadapt.lab.artifacts.projection_files import check_export_path, export_projection
from vocadapt.lab.steps.projection import ProjectionStep, compute_projection, summarize_projection
from vocadapt.lab.steps.spec import Spec
from vocadapt.progress import Progress
from vocadapt.spaces.projection.methods import METRICS
from vocadapt.spaces.projection.projection import METHODS, ProjectionSettings
from vocadapt.spaces.projection.token_choice import BANDS, TokenChoice

FILE = re.compile(r"\.[A-Za-z]{2,8}")  # suffixes of files, in contrast to folders

CHOICE = {
    "first": "number of tokens to show; 0: all",
    "min_length": "minimum number of characters, without the mark of a continuation",
    "low": "lower end of the frequency band, a rank or count",
    "high": "upper end of the frequency band; 0: none",
    "nearest": "number of neighbors shown with --around",
}
LAYOUT = {
    "perplexity": "perplexity of t-SNE",
    "exaggeration": "early exaggeration of t-SNE",
    "iterations": "iterations of t-SNE, epochs of UMAP; 0: the method's default",
    "learning_rate": "learning rate of t-SNE, in scikit-learn's units; 0: by the number of tokens",
    "neighbors": "number of neighbors of UMAP",
    "min_dist": "minimum distance of points of UMAP",
    "pca": "dimensions kept by PCA before t-SNE and UMAP; 0: all",
    "seed": "random seed of the layout",
}


def _add_options(parser: Parser) -> None:
    choice, layout = TokenChoice(), ProjectionSettings()
    add_model(parser, required=False, help="hub name or model folder whose wordpieces are shown")
    parser.add_argument("--vectors", metavar="DIR", help="word vectors to show")
    parser.add_argument(
        "--other", metavar="M|DIR", help="second space; only shared words are shown"
    )
    parser.add_argument(
        "--method",
        default=layout.method,
        choices=METHODS,
        help=f"projection method (default {layout.method})",
    )
    for name, meaning in CHOICE.items():
        _add_number(parser, name, choice, meaning)
    parser.add_argument(
        "--band",
        default=choice.band,
        choices=BANDS,
        help="meaning of --low and --high (default rank)",
    )
    for name in ("specials", "continuations", "unused"):
        parser.add_argument(
            f"--{name}", action="store_true", help=f"show {name.replace('unused', '[unusedN]')} too"
        )
    parser.add_argument(
        "--search", default="", metavar="TEXT", help="substring that tokens must contain"
    )
    parser.add_argument(
        "--around",
        default="",
        metavar="WORD",
        help="word to show with its nearest neighbors, instead of the first tokens",
    )
    for name, meaning in LAYOUT.items():
        _add_number(parser, name, layout, meaning)
    parser.add_argument(
        "--metric",
        default=layout.metric,
        choices=METRICS,
        help=f"distance measure (default {layout.metric})",
    )
    add_out(parser)


def _add_number(
    parser: Parser, name: str, settings: TokenChoice | ProjectionSettings, meaning: str
) -> None:
    default = getattr(settings, name)
    flag, help = f"--{name.replace('_', '-')}", f"{meaning} (default {default})"
    parser.add_argument(flag, type=setting(settings, name), default=default, metavar="N", help=help)


def _read_settings(options: Namespace) -> ProjectionStep:
    given = vars(options)
    choice = TokenChoice(**{name: given[name] for name in asdict(TokenChoice())})
    return ProjectionStep(
        choice, ProjectionSettings(**{name: given[name] for name in asdict(ProjectionSettings())})
    )


def _project(options: Namespace, progress: Progress) -> Answer:
    start = time.perf_counter()
    if bool(options.model) == bool(options.vectors):
        raise InputError(
            "A projection shows the wordpieces of a model or word vectors: give either --model or"
            " --vectors."
        )
    space, step = options.model or options.vectors, _read_settings(options)
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
