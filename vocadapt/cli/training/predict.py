"""predict: predictions of a fine-tuned run on other text."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings
from vocadapt.cli.tables import format_facts
from vocadapt.errors import InputError
from vocadapt.lab.reports.evaluation import EvaluateSettings
from vocadapt.lab.workspace.drafts import check_free_file, open_file_draft
from vocadapt.progress import Progress
from vocadapt.training.finetune.run_files import load_run
from vocadapt.training.finetune.tokenizations import CHOICES, select_tokenization
from vocadapt.training.prediction.plain_text import plain_examples, read_lines
from vocadapt.training.tasks.examples import Split


def _add_options(parser: Parser) -> None:
    parser.add_argument(
        "--model", metavar="RUN", required=True, help="run folder written by finetune, of one seed"
    )
    parser.add_argument(
        "file", metavar="FILE", help="examples of the run's kind of task, with or without labels"
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="read FILE as plain text, one sentence or example per line",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help="output file: a word and its tag per line for NER, else JSON lines",
    )
    parser.add_argument(
        "--tokenization",
        choices=CHOICES,
        default="",
        help="tokenization to use; mixed and both mean pooled (default pooled)",
    )
    add_settings(parser, EvaluateSettings, "word_rule")
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")


def _predict(options: Namespace, progress: Progress) -> Answer:
    run, out = load_run(Path(options.model)), Path(options.out)
    check_free_file(out, options.overwrite)
    path = Path(options.file)
    lines: list[str] = []
    if options.plain:
        lines = read_lines(path)
        split = Split(plain_examples(run, lines), path=path)
    else:
        split = run.kind.read_split(path, unit=run.unit)
    if options.word_rule and not run.kind.has_word_rule:
        raise InputError(
            f"--word-rule applies to question answering only; this run is of {run.kind}.",
            "Leave it out.",
        )
    split = replace(split, examples=run.apply_word_rule(split.examples, options.word_rule or ""))
    logits = run.logits(split.examples, progress)
    tokenization = select_tokenization(logits, options.tokenization)
    said = list(map(run.outputs.predict, logits[tokenization], split.examples))
    with open_file_draft(out) as draft:
        draft.write_text(
            "".join(run.kind.format_predictions(split.examples, said, out.suffix == ".jsonl")),
            encoding="utf-8",
        )
    answer = {
        "out": str(out),
        "examples": len(split),
        "of": len(lines) or len(split),
        "cut": tokenization,
        "kind": run.kind.name,
    }
    if run.kind.has_word_rule:
        answer["word_rule"] = options.word_rule or run.word_rule
    return Answer(answer, format_facts(answer))


PREDICT = Command(_add_options, _predict)
