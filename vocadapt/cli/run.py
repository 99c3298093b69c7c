"""From the arguments to a command, from its Answer to stdout."""

import logging
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from vocadapt import __doc__ as about
from vocadapt.cli.parser import Parser
from vocadapt.cli.progress import ProgressLine
from vocadapt.errors import InputError
from vocadapt.progress import Progress

# Command → where it is (module, name of its Command) and its sentence. Nothing of it is imported to
# show the help.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": (
        "lab.demo",
        "DEMO",
        "walk the whole path on what comes with vocadapt, in a minute, each step really run",
    ),
    "advise": (
        "vocabulary.advise",
        "ADVISE",
        "from word counts alone: is a new vocabulary worth a run, and which",
    ),
    "words count": ("words.words", "COUNT", "count the words of a text as a model meets them"),
    "context": (
        "words.context",
        "CONTEXT",
        "the lines of a text in which a word or a wordpiece stands",
    ),
    "vectors train": ("words.vectors", "TRAIN", "train word vectors on a text"),
    "vectors import": ("words.vectors", "IMPORT", "take over word vectors of another program"),
    "vectors evaluate": ("words.evaluate", "EVALUATE", "compare word vectors with human judgment"),
    "vectors contextual": (
        "words.vectors",
        "CONTEXTUAL",
        "vectors of words in their context: what a layer of a model makes of them",
    ),
    "align": (
        "words.align",
        "ALIGN",
        "fit a map from word vectors to a model's wordpieces, and judge it on held-out words",
    ),
    "initializers": (
        "vocabulary.initializers",
        "COMPARE",
        "initializers compared before any training",
    ),
    "neighbors": (
        "words.align",
        "NEIGHBORS",
        "what lies next to a word: in either space, and across through the map",
    ),
    "project": (
        "words.project",
        "PROJECT",
        "the words of a space, or of two, in the plane: PCA, t-SNE, UMAP",
    ),
    "diagnose": (
        "words.diagnose",
        "DIAGNOSE",
        "the geometry of spaces: mean cosines within and between, isotropy, hubness, norms",
    ),
    "relations": (
        "words.diagnose",
        "RELATIONS",
        "how near the words of a relation lie, against the space's mean and random pairs",
    ),
    "change": (
        "words.change",
        "CHANGE",
        "which words have other neighbors in one space than in another",
    ),
    "vocabulary compare": (
        "vocabulary.vocabulary",
        "COMPARE",
        "what vocabularies have in common, and each in figures",
    ),
    "vocabulary study": (
        "vocabulary.vocabulary",
        "STUDY",
        "how much longer a text becomes when a vocabulary is made smaller",
    ),
    "vocabulary reduce": (
        "vocabulary.vocabulary",
        "REDUCE",
        "take a share of the tokens out of a model",
    ),
    "vocabulary extension": (
        "vocabulary.extension",
        "EXTENSION_CURVE",
        "how a text is cut with more and more wordpieces of its own",
    ),
    "adapt": ("vocabulary.adapt", "ADAPT", "teach a model the words of a domain"),
    "certify": ("vocabulary.adapt", "CERTIFY", "check that an adapted model kept what it should"),
    "pretrain": (
        "training.pretrain",
        "PRETRAIN",
        "train on a text: a model by stages, or a small one of one's own from scratch",
    ),
    "gates": (
        "training.gates",
        "GATES",
        "how much each layer of an exBERT listens to its extension, by kind of token",
    ),
    "tokenize": ("vocabulary.tokenize", "TOKENIZE", "how models cut a text"),
    "lens": (
        "vocabulary.lens",
        "LENS",
        "how models cut a text, in figures, and the words they cut otherwise",
    ),
    "presets": (
        "vocabulary.adapt",
        "PRESETS",
        "the built-in recipes, and everything a recipe can choose from",
    ),
    "convert": ("vocabulary.adapt", "CONVERT", "turn a published .bin model into safetensors"),
    "tasks list": (
        "training.tasks",
        "LIST",
        "the benchmarks of the papers (tasks alone does the same)",
    ),
    "tasks card": (
        "training.tasks",
        "CARD",
        "what is known of a benchmark: labels, sizes, metric, license, where to get it",
    ),
    "tasks download": (
        "training.tasks",
        "DOWNLOAD",
        "fetch a benchmark that is free, checked, ready to train on",
    ),
    "score": (
        "analysis.score",
        "SCORE",
        "score predictions of any program, each score under its exact definition",
    ),
    "finetune": (
        "training.finetune",
        "FINETUNE",
        "train a model on a task, under its tokenizations, and score it",
    ),
    "evaluate": (
        "training.finetune",
        "EVALUATE",
        "score a fine-tuned run again: other examples, another score",
    ),
    "predict": (
        "training.predict",
        "PREDICT",
        "what a fine-tuned run says of other text, both tokenizations pooled",
    ),
    "zero-shot": (
        "training.zero_shot",
        "ZERO_SHOT",
        "general questions learned, words of a domain taught, its questions answered unseen",
    ),
    "answer": (
        "training.answer",
        "ANSWER",
        "questions on a text of any length, answered under each cut and pooled",
    ),
    "compare": (
        "analysis.compare",
        "COMPARE",
        "two runs or predictions on the same examples: paired test, fixed, broken, and where from",
    ),
    "results": (
        "analysis.results",
        "RESULTS",
        "fine-tuned runs beside each other: mean ± sd over seeds, paired tests to a baseline",
    ),
    "jobs list": (
        "lab.jobs",
        "LIST",
        "long steps beside the page: how each stands (jobs alone does the same)",
    ),
    "jobs show": ("lab.jobs", "SHOW", "a job in full: progress, command line, log, metrics"),
    "jobs cancel": ("lab.jobs", "CANCEL", "stop a job, and say how it ended"),
    "jobs resume": (
        "lab.jobs",
        "RESUME",
        "start a job again that was interrupted, canceled or failed",
    ),
    "app": ("lab.app", "APP", "open the lab in the browser"),
}
HIDDEN = {
    "job": ("lab.app", "JOB", "run a job's folder"),
    "jobs": ("lab.jobs", "LIST", COMMANDS["jobs list"][2]),
    "tasks": ("training.tasks", "LIST", COMMANDS["tasks list"][2]),
}


@dataclass(frozen=True)
class Answer:
    """What a command found: as JSON values, as text for people, and the exit code."""

    json: Any
    text: str
    exit: int = 0


@dataclass(frozen=True)
class Command:
    """A command: adds its options to a parser, and runs on what was parsed."""

    options: Callable[[Parser], None]
    run: Callable[[Namespace, Progress], Answer]


def run(arguments: list[str]) -> int:
    """Run one command line; raises InputError for a mistake in it."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview())
        return 0
    if arguments[0] == "--version":
        from vocadapt import __version__

        print(f"vocadapt {__version__}")
        return 0
    name, rest = find(arguments)
    module, attribute, sentence = (COMMANDS | HIDDEN)[name]
    command: Command = getattr(import_module(f"vocadapt.cli.{module}"), attribute)
    parser = Parser(
        prog=f"python -m vocadapt {name}", description=f"{sentence[0].upper()}{sentence[1:]}."
    )
    command.options(parser)
    parser.add_argument(
        "--json", action="store_true", help="print strict JSON, and nothing else, on stdout"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="progress, logs and warnings on stderr"
    )
    options = parser.parse(rest)
    return _answer(command, options)


def _answer(command: Command, options: Namespace) -> int:
    """Run the command with stdout kept clean, and print what it found."""
    from vocadapt.lab.workspace.strict_json import dumps

    if not options.verbose:
        warnings.simplefilter("ignore")
    logging.basicConfig(stream=sys.stderr, level=logging.INFO if options.verbose else logging.ERROR)
    with ProgressLine(options.verbose) as progress, redirect_stdout(sys.stderr):
        answer = command.run(options, progress)
    # Escaped beyond ASCII: valid whatever the terminal's encoding is.
    print(dumps(answer.json, ascii_only=True) if options.json else answer.text, flush=True)
    return answer.exit


def find(arguments: list[str]) -> tuple[str, list[str]]:
    """The command that the arguments name, and the rest; raises InputError, with the nearest name,
    for any other.
    """
    known = COMMANDS | HIDDEN
    for words in (2, 1):
        name = " ".join(arguments[:words])
        if len(arguments) >= words and name in known and not _another_word(name, arguments[words:]):
            return name, arguments[words:]
    group = [name for name in COMMANDS if name.startswith(f"{arguments[0]} ")]
    if group:
        raise InputError(
            f"{arguments[0]} needs to know what to do:"
            f" {', '.join(name.split()[1] for name in group)}."
        )
    asked = " ".join(word for word in arguments[:2] if not word.startswith("-"))
    near = get_close_matches(asked, COMMANDS, n=1, cutoff=0.5) or get_close_matches(
        arguments[0], COMMANDS, n=1, cutoff=0.5
    )
    advice = f"Did you mean {near[0]!r}?" if near else "python -m vocadapt --help lists them."
    raise InputError(f"There is no command {arguments[0]!r}. {advice}")


def _another_word(name: str, rest: list[str]) -> bool:
    """Whether a group that may stand alone is followed by a word: then that must name one of its
    commands.
    """
    group = any(known.startswith(f"{name} ") for known in COMMANDS)
    return group and bool(rest) and not rest[0].startswith("-")


def overview() -> str:
    """What --help prints: every command with its sentence."""
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:<{width}}{sentence}" for name, (_, _, sentence) in COMMANDS.items()]
    usage = (
        "usage: python -m vocadapt COMMAND …       (python -m vocadapt COMMAND --help tells more)"
    )
    return "\n".join([(about or "").strip(), "", usage, "", *lines])
