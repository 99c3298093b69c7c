"""Options that several commands share."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_settings
from vocadapt.cli.tables import format_facts
from vocadapt.errors import InputError
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.spec import CASINGS, Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.progress import Progress
from vocadapt.text.corpus import READABLE, CorpusSettings

M = "hub name, model folder, or a bare vocab.txt where only the vocabulary matters"
TEXT = f"files and folders: {READABLE}"


def add_model(parser: Parser, required: bool = True, help: str = M) -> None:
    """Add --model and --offline."""
    parser.add_argument("--model", metavar="M", required=required, help=help)
    add_offline(parser)


def add_offline(parser: Parser) -> None:
    """Add --offline."""
    parser.add_argument("--offline", action="store_true", help="do not download models")


def add_casing(parser: Parser) -> None:
    """Add --casing, for commands that accept a bare vocab.txt."""
    parser.add_argument(
        "--casing",
        default="",
        choices=CASINGS,
        help="casing of a bare vocab.txt (default: inferred from its tokens)",
    )


def read_lowercase(options: Namespace) -> bool | None:
    """Return whether to lowercase, from the option of `add_casing`; None if it was not given."""
    return bool(options.casing == "uncased") if options.casing else None


def add_text(parser: Parser, own_seed: bool = True) -> None:
    """Add the options of every command that reads text.

    own_seed: also accept --seed, which must have no other meaning in the command.
    """
    add_settings(parser, CorpusSettings, other_flags=own_seed)


def corpus_settings(options: Namespace) -> CorpusSettings:
    """Build the corpus settings from the options of `add_text`."""
    return read_settings(options, CorpusSettings)


def add_out(parser: Parser, flag: str = "--out") -> None:
    """Add the options for where a command writes."""
    parser.add_argument(flag, metavar="DIR", dest="out", help="output folder …")
    parser.add_argument(
        "--workspace",
        metavar="W",
        default="workspace",
        help="… or workspace to write to (default ./workspace)",
    )
    parser.add_argument("--name", metavar="N", help="name of the result in the workspace")
    parser.add_argument(
        "--overwrite", action="store_true", help="replace an earlier result of vocadapt"
    )


def add_checkpoints(parser: Parser) -> None:
    """Add the option for where a training stores its checkpoints."""
    help = (
        "folder for checkpoints: if the command is interrupted, running it again resumes from them"
        " (jobs keep their own)"
    )
    parser.add_argument("--checkpoints", metavar="DIR", help=help)


def choose_destination(options: Namespace, kind: str) -> Path | None:
    """Return the folder to write to, None if no output was requested.

    Raises InputError for two destinations and for an invalid name.
    """
    if options.out is not None and options.name is not None:
        raise InputError(
            "Give either a folder to write to, or a --name in the workspace, not both."
        )
    if options.name is not None:
        return Workspace(Path(options.workspace)).folder(kind, options.name)
    return None if options.out is None else Path(options.out)


def write(spec: Spec, options: Namespace, progress: Progress) -> Artifact:
    """Run a step and write its result; raise InputError if the options name no destination."""
    folder = choose_destination(options, spec.kind)
    if folder is None:
        raise InputError(
            "No output folder was given: use --out DIR, or --name N (with --workspace W)."
        )
    keep = getattr(options, "checkpoints", None)
    return run_step(
        spec.absolute(), folder, progress, options.overwrite, keep=Path(keep) if keep else None
    )


def build_answer(artifact: Artifact, exit: int = 0) -> Answer:
    """Build the answer of a command that wrote an artifact."""
    manifest = artifact.manifest
    place = {
        "out": str(artifact.folder),
        "seconds": manifest.seconds,
        "manifest": str(artifact.folder / "manifest.json"),
    }
    flat = {
        key: shown
        for key, value in manifest.numbers.items()
        if (shown := _flatten(value)) not in ("", None)
    }
    return Answer({**place, "numbers": manifest.numbers}, format_facts({**flat, **place}), exit)


def _flatten(value: Any) -> Any:
    """Format a value for the text output: lists and tables of plain values in one line.

    Returns None for nested values, which only the JSON output holds.
    """
    parts = [f"{name}: {one}" for name, one in value.items()] if isinstance(value, dict) else value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if any(isinstance(one, dict | list) for one in inner):
        return None
    return "; ".join(map(str, parts)) if isinstance(parts, list) else value
