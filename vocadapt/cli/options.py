"""Options shared by several commands, and functions that open the models, texts and output folders
that they name.
"""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, NotRequired, TypedDict, TypeVar

from vocadapt.cli.command import AddOption, Answer, Options, option, read_settings, setting_options
from vocadapt.cli.tables import format_facts
from vocadapt.cli.workspace_options import output_option
from vocadapt.errors import InputError
from vocadapt.lab.experiments import STEPS
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.inputs.tasks import find_task
from vocadapt.lab.steps.command_lines import setting_arguments
from vocadapt.lab.steps.guards import Change, Guard, apply_change
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import CASINGS, Spec, read_numbers
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.system.json_values import build_value
from vocadapt.text.corpus import READABLE, Corpus, CorpusSettings
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.splits import SPLITS

N_co = TypeVar("N_co", covariant=True)


class Place(TypedDict):
    """Where an artifact was written, how long that took, and how long its training took; and what
    was known before the step started, if it has guards.
    """

    out: str
    seconds: float
    manifest: str
    training_seconds: NotRequired[float]
    guards: NotRequired[list[Guard]]


class ArtifactAnswer(Place, Generic[N_co]):
    """A written artifact and its figures."""

    numbers: N_co


M = "hub name, model folder, or a bare vocab.txt where only the vocabulary matters"
WITH_WEIGHTS = "hub name or model folder"
TEXT = f"files and folders: {READABLE}"

OFFLINE = option("--offline", action="store_true", help="do not download models")
CASING = option(
    "--casing",
    default="",
    choices=CASINGS,
    help="casing of a bare vocab.txt, or of a folder that does not state it (default: inferred from"
    " its tokens)",
)
CORPUS = option("--corpus", metavar="TEXT", nargs="+", required=True, help=TEXT)
# The options of every command that reads text. --seed has another meaning in some commands.
CORPUS_SETTINGS = setting_options(CorpusSettings)
CORPUS_SETTINGS_WITHOUT_SEED = setting_options(CorpusSettings, other_flags=False)
CHECKPOINTS = output_option(
    "--checkpoints",
    metavar="DIR",
    help="folder for checkpoints: if the command is interrupted, running it again resumes from them"
    " (jobs keep their own)",
)


def model_options(required: bool = True, help: str = M) -> tuple[AddOption, ...]:
    """Declare --model and --offline."""
    return option("--model", metavar="M", required=required, help=help), OFFLINE


def destination_options(flag: str = "--out", grows: bool = False) -> tuple[AddOption, ...]:
    """Declare the options for where a command writes; grows: running it again continues there."""
    help = "folder to fill; run the command again to continue …" if grows else "output folder …"
    overwrite = option(
        "--overwrite", action="store_true", help="replace an earlier result of vocadapt"
    )
    return (
        output_option(flag, metavar="DIR", dest="out", help=help),
        output_option(
            "--workspace",
            metavar="W",
            default="workspace",
            help="… or workspace to write to (default ./workspace)",
        ),
        option("--name", metavar="N", help="name of the result in the workspace"),
        *(() if grows else (overwrite,)),
    )


def task_options(more: str = "") -> tuple[AddOption, ...]:
    """Declare --task, and an option for the file of each split; more: what the task needs."""
    kinds = ", ".join(TASK_KINDS)
    task = option(
        "--task",
        metavar="KIND|NAME|FILE",
        required=True,
        help="task file (.toml) or folder, name of a task in the workspace, or a kind of task"
        f" ({kinds}) with its files{more}",
    )
    files = (
        option(f"--{split}", metavar="F", help=f"{split} examples, if --task is a kind of task")
        for split in SPLITS
    )
    return task, *files


def read_task_inputs(options: Options) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the inputs of a fine-tuning, and its kind of task if the task determines it ("")."""
    inputs = {name: getattr(options, name) for name in ("model", *SPLITS)}
    if options.task in TASK_KINDS:
        return inputs, {}
    inputs["task"] = str(find_task(options.task, Workspace(Path(options.workspace))))
    return inputs, {"kind": ""}


def read_lowercase(options: Options) -> bool | None:
    """Return whether to lowercase, from --casing; None if it was not given."""
    return {"cased": False, "uncased": True}.get(getattr(options, "casing", ""))


def open_named_model(options: Options, name: str = "") -> LanguageModel:
    """Open a model, by default the one of --model, with the options --offline and --casing."""
    return open_model(name or options.model, options.offline or None, read_lowercase(options))


def read_texts(options: Options, paths: Sequence[str]) -> Corpus:
    """Read texts with the settings of CORPUS_SETTINGS."""
    return read_corpus(paths, read_settings(options, CorpusSettings))


def choose_destination(options: Options, kind: str) -> Path | None:
    """Return the folder to write to, None if no output was requested.

    Raises InputError for two destinations and for an invalid name.
    """
    if options.out is not None and options.name is not None:
        raise InputError(
            "Give either a folder to write to, or a --name in the workspace, not both.",
            code="two-destinations",
        )
    # --workspace has a default, so only --name shows that the workspace is meant.
    if options.name is not None:
        return Workspace(Path(options.workspace)).folder(kind, options.name)
    return None if options.out is None else Path(options.out)


def require_destination(options: Options, kind: str) -> Path:
    """Return the folder to write to; raise InputError if the options name none."""
    folder = choose_destination(options, kind)
    if folder is None:
        raise InputError(
            "No output folder was given: use --out DIR, or --name N (with --workspace W).",
            code="no-destination",
        )
    return folder


def write_artifact(spec: Spec, options: Options) -> Artifact:
    """Run a step and write its result; raise InputError if the options name no destination."""
    keep = getattr(options, "checkpoints", None)
    if keep is not None:
        keep = Path(keep)
    return run_and_report(spec, require_destination(options, spec.kind), options, keep)


def run_and_report(
    spec: Spec, folder: Path, options: Options, keep: Path | None = None
) -> Artifact:
    """Run a step; print its guards on stderr before its work begins."""

    def report(guard: Guard) -> None:
        print(describe_guard(guard, spec.settings), file=sys.stderr, flush=True)

    return run_step(
        spec.absolute(),
        folder,
        options.progress,
        getattr(options, "overwrite", False),
        keep=keep,
        report_guard=report,
    )


def describe_guard(guard: Guard, settings: Any) -> str:
    """Describe a guard in one line, with the options that repair it."""
    kind = "warning" if guard.serious else "note"
    line = f"{kind}: {guard.sentence}"
    if guard.change:
        line += f" Repair: {format_change(guard.change, settings)}"
    return line


def format_change(change: Change, settings: Any) -> str:
    """Format a change of settings as options: --limit 1000 --num-epochs 15."""
    changed = setting_arguments(apply_change(settings, change), settings)
    return shlex.join(changed)


def describe_place(artifact: Artifact) -> Place:
    """Return where an artifact was written, how long that took, and how long its training took."""
    place: Place = {
        "out": str(artifact.folder),
        "seconds": artifact.manifest.seconds,
        "manifest": str(artifact.folder / "manifest.json"),
    }
    if "training_seconds" in artifact.manifest.numbers:
        place["training_seconds"] = artifact.manifest.numbers["training_seconds"]
    step = STEPS.get(artifact.manifest.step)
    if step is not None and step.guards is not None:
        place["guards"] = [build_value(Guard, guard) for guard in artifact.manifest.guards]
    return place


def build_answer(artifact: Artifact) -> Answer[Any]:
    """Build the answer of a command that wrote an artifact; a failed certificate is exit code 1."""
    # The text contains the values that fit on one line; JSON contains all of them.
    place = describe_place(artifact)
    numbers = artifact.manifest.numbers
    flat = {name: _flatten(value) for name, value in numbers.items()}
    shown = {name: value for name, value in flat.items() if value not in ("", None)}
    return Answer(
        {**place, "numbers": read_numbers(artifact)},
        format_facts({**shown, **place}),
        int(numbers.get("certificate") is False),
    )


def _flatten(value: Any) -> Any:
    """Format a value for the text output: lists and mappings of plain values on one line.

    Returns None for nested values, which only the JSON output contains.
    """
    parts = value
    if isinstance(value, dict):
        value = list(value.values())
        parts = [f"{name}: {one}" for name, one in parts.items()]
    if not isinstance(value, list):
        return value
    if any(isinstance(one, dict | list) for one in value):
        return None
    return "; ".join(map(str, parts))
