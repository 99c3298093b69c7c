"""answer: questions on a text, answered by a fine-tuned model under each tokenization."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.parser import Parser, whole
from vocadapt.cli.setting_options import add_settings
from vocadapt.cli.tables import format_table, number
from vocadapt.lab.reports.evaluation import EvaluateSettings
from vocadapt.progress import Progress
from vocadapt.text.formats.text_file import open_text_file
from vocadapt.training.finetune.run_files import load_run
from vocadapt.training.finetune.tokenizations import (
    CHOICES,
    POOLED,
    choose_main_tokenization,
    select_tokenization,
)
from vocadapt.training.prediction.answering import QuestionAnswers, answer
from vocadapt.training.tasks.context_windows import AnswerSettings

NONE = (
    "(no answer: no word of the context that the model reads fits into"
    f" {AnswerSettings().characters} characters)"
)


def _add_options(parser: Parser) -> None:
    model = "run folder written by finetune, or a model folder with a question-answering head"
    parser.add_argument("--model", metavar="DIR", required=True, help=model)
    parser.add_argument(
        "--context",
        metavar="FILE",
        required=True,
        help="text file that contains the answers, of any length",
    )
    parser.add_argument(
        "--question", metavar="Q", nargs="+", required=True, help="questions to answer"
    )
    parser.add_argument(
        "--tokenization",
        choices=CHOICES,
        default="",
        help="tokenization to use; mixed and both mean pooled (default all)",
    )
    parser.add_argument(
        "-n",
        type=whole(1, 1_000),
        default=1,
        metavar="N",
        dest="most",
        help="number of answers per question and tokenization (default 1)",
    )
    add_settings(parser, EvaluateSettings, "word_rule")


def _answer(options: Namespace, progress: Progress) -> Answer:
    run = load_run(Path(options.model))
    with open_text_file(Path(options.context)) as source:
        context = source.read_document()
    found = answer(run, options.question, context, options.most, progress, options.word_rule or "")
    tokenizations = list(found[0].best)
    shown = (
        [select_tokenization(tokenizations, options.tokenization)]
        if options.tokenization
        else tokenizations
    )
    judged = shown[0] if options.tokenization else choose_main_tokenization(tokenizations)
    return Answer(
        {
            "model": options.model,
            "cut": judged,
            "word_rule": options.word_rule or run.word_rule,
            "answers": [_answer_to_json(one, judged, shown) for one in found],
        },
        "\n\n".join(_render(one, shown) for one in found),
    )


def _answer_to_json(found: QuestionAnswers, judged: str, shown: Sequence[str]) -> dict[str, object]:
    """Convert to JSON: the best answer under the main tokenization (null if there is none), and all."""
    values = found.to_dict()
    values["best"] = {tokenization: values["best"][tokenization] for tokenization in shown}
    values["windows"] = {
        tokenization: part
        for tokenization, part in values["windows"].items()
        if tokenization in shown or judged == POOLED
    }
    best = next(iter(values["best"][judged]), None) or {
        "text": None,
        "start": None,
        "end": None,
        "score": None,
    }
    return {
        "question": found.question,
        "answer": best["text"],
        **{key: best[key] for key in ("score", "start", "end")},
        **values,
    }


def _render(found: QuestionAnswers, shown: Sequence[str]) -> str:
    """Render a question with its answers under each tokenization, and where they were found."""
    header = ("tokenization", "answer", "score", "probability", "characters", "window")
    rows = [row for name in shown for row in _build_rows(found, name)]
    return f"{found.question}\n{format_table(header, rows)}"


def _build_rows(found: QuestionAnswers, tokenization: str) -> Iterator[tuple[object, ...]]:
    part = found.windows.get(tokenization)
    window = f"{part.window} of {part.of}: {part.start}–{part.end}" if part else ""
    if not found.best[tokenization]:
        yield tokenization, NONE, None, None, "", ""
    for place, one in enumerate(found.best[tokenization]):
        said = " ".join(one.text.split())
        yield (
            tokenization,
            said,
            one.score,
            number(one.probability),
            f"{one.start}–{one.end}",
            window if place == 0 else "",
        )


ANSWER = Command(_add_options, _answer)
