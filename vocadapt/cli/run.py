"""Run the command that the arguments name, and print its answer."""

import logging
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

import vocadapt
from vocadapt.cli.command import Command, Options
from vocadapt.cli.errors import JSON_ERRORS
from vocadapt.cli.parser import Parser
from vocadapt.cli.schema import Schema, build_command_schema, build_overview
from vocadapt.errors import InputError
from vocadapt.extensions import check_extensions
from vocadapt.progress import Progress, silent
from vocadapt.text.display import escape_lines

CLEAR = "\r\x1b[K"  # back to the beginning of the line, and erase it

STEP = ""  # in place of a module: the command is built from the declaration of a step
# Command → module and sentence. In the module, the Command has the name of the last word: TRIM.
# The help imports no module.
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": (
        "lab.jobs",
        "make the workspace of the demo: bundled data, and the results of its jobs, in about a minute",
    ),
    "advise": (
        "vocabulary.advise",
        "advise whether and how to adapt a vocabulary, from word counts alone",
    ),
    "words count": ("words.words", "count the words of a text as a model splits them"),
    "context": ("words.words", "show the lines of a text that contain a word or a wordpiece"),
    "vectors train": (STEP, "train word vectors on a text"),
    "vectors import": (STEP, "import word vectors of another program"),
    "vectors evaluate": ("words.diagnose", "compare word vectors with human judgments"),
    "vectors contextual": (
        STEP,
        "compute contextual vectors: mean outputs of a layer for each word",
    ),
    "align": (
        "words.align",
        "fit an alignment of word vectors to a model's wordpieces and evaluate it on held-out words",
    ),
    "initializers": (
        "vocabulary.initializers",
        "compare initializers of new embeddings before any training",
    ),
    "neighbors": ("words.align", "list the nearest neighbors of words within and across spaces"),
    "project": (
        "words.align",
        "project the words of one or two spaces to the plane: PCA, t-SNE, UMAP",
    ),
    "diagnose": (
        "words.diagnose",
        "measure the geometry of spaces: mean cosines, isotropy, hubness, norms",
    ),
    "relations": ("words.diagnose", "measure how similar related words are, against random pairs"),
    "change": ("words.change", "list the words whose neighbors differ most between two spaces"),
    "vocabulary compare": (
        "vocabulary.vocabulary",
        "compare vocabularies: overlap, lengths, faults",
    ),
    "vocabulary study": (
        "vocabulary.vocabulary",
        "measure how much longer a text becomes with a smaller vocabulary",
    ),
    "vocabulary reduce": ("vocabulary.vocabulary", "remove a fraction of the tokens of a model"),
    "vocabulary trim": (
        "vocabulary.trim",
        "remove the tokens of a model that a text does not need",
    ),
    "vocabulary extension": (
        "vocabulary.vocabulary",
        "measure how a text is tokenized with more and more added wordpieces",
    ),
    "adapt": ("vocabulary.adapt", "adapt the vocabulary of a model to a domain"),
    "certify": ("vocabulary.adapt", "check that an adapted model changed only where it should"),
    "pack make": (
        STEP,
        "make a vocabulary pack: the added tokens of an adapted model in one small file",
    ),
    "pack apply": (STEP, "apply a vocabulary pack to its base model"),
    "pack remove": (
        STEP,
        "remove the vocabulary pack of a model, which gives the base model again",
    ),
    "pack show": ("vocabulary.packs", "show the tokens of a vocabulary pack and its base"),
    "pretrain": (
        "training.pretrain",
        "continue pretraining of a model, or pretrain a small one from scratch",
    ),
    "gates": (
        "training.pretrain",
        "report the weight of the extension in each layer of an exBERT, by kind of token",
    ),
    "tokenize": ("vocabulary.advise", "show how models tokenize a text"),
    "lens": (
        "vocabulary.advise",
        "compare tokenizations of a text, and list the words that differ",
    ),
    "presets": ("vocabulary.adapt", "list the built-in recipes, and all options of a recipe"),
    "convert": (STEP, "convert a published .bin model to safetensors"),
    "tasks list": ("training.finetune", "list the published benchmarks (same as tasks alone)"),
    "tasks card": (
        "training.finetune",
        "show the card of a benchmark: labels, sizes, metric, license, source",
    ),
    "tasks download": (
        "training.finetune",
        "download a free benchmark, verified and ready for training",
    ),
    "score": (
        "analysis.results",
        "score the predictions of any program, each score with its definition",
    ),
    "finetune": (
        "training.finetune",
        "fine-tune a model on a task under its tokenizations, and score it",
    ),
    "evaluate": (
        "training.finetune",
        "score a fine-tuned run again, on other examples or by another scorer",
    ),
    "predict": (
        "training.predict",
        "predict with a fine-tuned run on other text, pooling both tokenizations",
    ),
    "zero-shot": (
        "training.finetune",
        "fine-tune on general questions, adapt to a domain, score its unseen questions",
    ),
    "answer": (
        "training.predict",
        "answer questions on a text of any length, under each tokenization and pooled",
    ),
    "compare": (
        "analysis.compare",
        "compare two runs or predictions: paired test, fixed and broken examples, error kinds",
    ),
    "results": (
        "analysis.results",
        "compare fine-tuned runs: mean ± sd over seeds, paired tests against a baseline",
    ),
    "study plan": (
        "lab.studies",
        "show the cells of a study, with their time, disk space and energy",
    ),
    "study run": ("lab.studies", "run the unfinished cells of a study; run it again to continue"),
    "study cell": ("lab.studies", "run one part of the cells of a study, as SLURM does"),
    "study status": ("lab.studies", "show the state of every cell of a study"),
    "study table": (
        "lab.studies",
        "show the results of a study: mean ± sd over seeds, paired tests against a baseline",
    ),
    "study report": ("lab.studies", "write the report of a study: a web page or a table"),
    "reproduce": (
        "lab.reproduce",
        "reproduce published tables with your data and models: published, ours, difference",
    ),
    "search": (
        "lab.search",
        "search hyperparameters of fine-tuning by their dev score, averaged over seeds",
    ),
    "search seeds": ("lab.search", "compare the dev scores of seeds after each epoch"),
    "jobs list": ("lab.jobs", "list the background jobs and their states (same as jobs alone)"),
    "jobs show": ("lab.jobs", "show a job: progress, command line, log, metrics"),
    "jobs cancel": ("lab.jobs", "cancel a job"),
    "jobs resume": ("lab.jobs", "resume a job that was interrupted, canceled or failed"),
    "workspace list": ("lab.artifact_list", "list the artifacts of a workspace"),
    "workspace rename": (
        "lab.workspaces",
        "rename an artifact, from which others stay up to date, or a job",
    ),
    "workspace note": ("lab.workspaces", "write a note on an artifact or a job"),
    "workspace delete": ("lab.workspaces", "move an artifact or a job to the trash"),
    "workspace trash": ("lab.workspaces", "list the trash of a workspace"),
    "workspace restore": ("lab.workspaces", "restore an artifact or a job from the trash"),
    "workspace empty-trash": ("lab.workspaces", "delete the trash for good"),
    "workspace copy": ("lab.workspaces", "copy a workspace to a new folder"),
    "workspace export": ("lab.workspaces", "write a workspace to one zip file"),
    "workspace open": ("lab.workspaces", "unpack an exported workspace to a new folder"),
    "app": ("lab.jobs", "open the lab in the browser"),
}
HIDDEN = {"job": ("lab.jobs", "run the job of a folder")}
ALIASES = {"jobs": "jobs list", "tasks": "tasks list"}


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; raise InputError if it is invalid."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(render_overview())
        return 0
    if arguments[0] == "--version":
        print(f"vocadapt {vocadapt.__version__}")
        return 0
    if arguments[0] == "--schema":
        check_extensions()
        _print_schema(build_overview(list_commands()))
        return 0
    if arguments[0] != "job":  # a job reports the error in its status
        check_extensions()
    # Only the module of this command is imported, which keeps --help and light commands fast.
    name, rest = find_command(arguments)
    command = load_command(name)
    parser = build_parser(name, command)
    if "--schema" in rest[: rest.index("--") if "--" in rest else None]:
        _print_schema(build_command_schema(name, command, parser))
        return 0
    options = parser.parse(rest)
    try:
        return _run_command(command, options)
    except InputError as error:  # code below the command line names settings, not flags
        raise _suggest_model_folder(parser.add_flag(error), options) from error


def list_commands() -> dict[str, tuple[str, str]]:
    """Return all commands, including those of steps that extensions registered."""
    commands = dict(COMMANDS)
    steps = sys.modules.get("vocadapt.lab.steps")  # an extension that registers one has imported it
    if steps is not None:
        for step in steps.STEPS.values():
            sentence = f"{step.about[:1].lower()}{step.about[1:]}"
            if step.command:
                commands.setdefault(" ".join(step.command), (STEP, sentence))
    return commands


def load_command(name: str) -> Command:
    """Import a command by its name."""
    module, _ = (list_commands() | HIDDEN)[name]
    if module == STEP:
        from vocadapt.cli.lab.step_command import build_step_command
        from vocadapt.lab.experiments import STEPS

        by_command = {" ".join(step.command): step for step in STEPS.values()}
        return build_step_command(by_command[name])
    own_name = name.split()[-1].upper().replace("-", "_")
    command: Command = getattr(import_module(f"vocadapt.cli.{module}"), own_name)
    return command


def build_parser(name: str, command: Command) -> Parser:
    """Build the parser of a command, with the options that all commands have."""
    _, sentence = (list_commands() | HIDDEN)[name]
    parser = Parser(
        prog=f"python -m vocadapt {name}", description=f"{sentence[0].upper()}{sentence[1:]}."
    )
    command.add_options(parser)
    parser.add_argument("--json", action="store_true", help="print only strict JSON on stdout")
    parser.add_argument(JSON_ERRORS, action="store_true", help="print an error as JSON on stderr")
    parser.add_argument(
        "--schema",
        action="store_true",
        help="print the JSON Schema of the arguments and of the answer with --json",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show progress, logs and warnings on stderr"
    )
    return parser


def _print_schema(schema: Schema) -> None:
    from vocadapt.lab.workspace.strict_json import dumps

    print(dumps(schema, indent=1, ascii_only=True), flush=True)


def _run_command(command: Command, options: Options) -> int:
    """Run a command and print its answer, the only output on stdout."""
    from vocadapt.lab.workspace.strict_json import dumps

    # Libraries warn and log a lot: without -v only errors are shown.
    level = logging.INFO
    if not options.verbose:
        warnings.simplefilter("ignore")
        level = logging.ERROR
    logging.basicConfig(stream=sys.stderr, level=level)
    logging.getLogger("vocadapt").setLevel(min(level, logging.WARNING))  # our own are few
    # Redirect the output of libraries: programs read the answer from stdout.
    with open_progress_line(options.verbose) as progress, redirect_stdout(sys.stderr):
        options.progress = progress
        answer = command.run(options)
    # ASCII-only JSON is valid in every encoding of a terminal.
    output = escape_lines(answer.text)
    if options.json:
        output = dumps(answer.json, ascii_only=True)
    print(output, flush=True)
    return answer.exit


def _suggest_model_folder(error: InputError, options: Options) -> InputError:
    """Add the folder of a model to the remedy of an error about an unknown model: a model with this
    name in the workspace or the demo, or else the model of the demo.
    """
    from vocadapt.models.language_model import UnknownModelError

    if not isinstance(error, UnknownModelError):
        return error
    from vocadapt.lab.demo import find_known_model

    workspace = Path(options.get("workspace") or "workspace")
    folder, has_name = find_known_model(error.name, workspace)
    if folder is None:
        return error
    remedy = f"{error.remedy} The model of the demo: {folder}."
    if has_name:
        remedy = f"There is a model of this name: give its folder, {folder}."
    return InputError(error.problem, remedy, code=error.code)


@contextmanager
def open_progress_line(verbose: bool) -> Iterator[Progress]:
    """Context manager: a Progress on stderr.

    A terminal shows one line that is overwritten. Elsewhere a line is printed every two seconds, if
    it has changed, with `verbose`; without, nothing.
    """
    terminal = sys.stderr.isatty()
    interval = 2.0
    last = float("-inf")
    shown = ""
    if terminal:
        interval = 0.1
    elif not verbose:
        yield silent
        return

    def report(fraction: float | None, message: str = "") -> None:
        nonlocal last, shown
        if time.monotonic() - last < interval:
            return
        last = time.monotonic()
        percentage = "    " if fraction is None else f"{fraction:4.0%}"
        line = escape_lines(f"{percentage}  {message}"[:110])
        if line == shown:
            return
        shown = line
        if terminal:
            print(f"{CLEAR}{line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    try:
        yield report
    finally:
        if terminal:
            print(CLEAR, end="", file=sys.stderr, flush=True)


def find_command(arguments: list[str]) -> tuple[str, list[str]]:
    """Split arguments into a command and the rest; raise InputError for an unknown command."""
    commands = list_commands()
    known = {*commands, *HIDDEN, *ALIASES}
    groups = {name.split()[0] for name in commands if " " in name}

    # 1. The longest name that is a command. A group that is also a command, such as jobs, is not
    # meant if another word follows.
    for words in (2, 1):
        name = " ".join(arguments[:words])
        rest = arguments[words:]
        followed = bool(rest) and not rest[0].startswith("-")
        if len(arguments) >= words and name in known and not (name in groups and followed):
            return ALIASES.get(name, name), rest

    # 2. A group without a command.
    if arguments[0] in groups:
        own = [name.split()[1] for name in commands if name.startswith(f"{arguments[0]} ")]
        problem = f"{arguments[0]} needs one of its commands: {', '.join(own)}."
        raise InputError(problem, code="missing-command")

    # 3. An unknown command: suggest the nearest one.
    typed = " ".join(word for word in arguments[:2] if not word.startswith("-"))
    advice = "python -m vocadapt --help lists them."
    for named in (arguments[0], typed):
        if near := get_close_matches(named, commands, n=1, cutoff=0.5):
            advice = f"Did you mean {near[0]!r}?"
    raise InputError(f"There is no command {arguments[0]!r}. {advice}", code="unknown-command")


def render_overview() -> str:
    """Return the text of --help: every command with its sentence."""
    commands = list_commands()
    width = max(map(len, commands)) + 2
    lines = [f"  {name:<{width}}{sentence}" for name, (_, sentence) in commands.items()]
    usage = "usage: python -m vocadapt COMMAND …       (see python -m vocadapt COMMAND --help)"
    return "\n".join([(vocadapt.__doc__ or "").split("\n")[0], "", usage, "", *lines])
