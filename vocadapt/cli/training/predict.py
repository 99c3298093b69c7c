"""predict, answer: predict with a fine-tuned run on other text, or answer questions with it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer, Command, Options, option, setting_options
from vocadapt.cli.tables import format_facts
from vocadapt.cli.workspace_options import OVERWRITE_FILE, output_option
from vocadapt.errors import InputError
from vocadapt.lab.reports.evaluation import EvaluateSettings
from vocadapt.lab.workspace.drafts import check_free_file, open_file_draft
from vocadapt.report.table import Column, Table
from vocadapt.report.terminal import write_terminal
from vocadapt.text.formats.text_file import open_text_file
from vocadapt.training.examples.context_windows import AnswerSettings
from vocadapt.training.examples.examples import Split
from vocadapt.training.finetune.run_files import load_run
from vocadapt.training.finetune.tokenizations import CHOICES, POOLED, select_tokenization
from vocadapt.training.prediction.answering import QuestionAnswers, answer
from vocadapt.training.prediction.plain_text import (
    add_blank_lines,
    has_words,
    plain_examples,
    read_lines,
)

NONE = (
    "(no answer: every word that the model reads is longer than the"
    f" {AnswerSettings().characters} characters of an answer)"
)
WORD_RULE = setting_options(EvaluateSettings, "word_rule")


COLUMNS = (
    Column("tokenization", "Tokenization"),
    Column("answer", "Answer"),
    Column("score", "Score", "Start logit plus end logit.", "number"),
    Column("probability", "Probability", "Among the best answers of the context.", "number"),
    Column("characters", "Characters", "Where the context has it.", "figure"),
    Column("window", "Window", "The window of the context that scores its first word."),
)


@dataclass(frozen=True)
class PredictAnswer:
    """The file that was written: predictions for `examples` of `of` lines, and the tokenization
    that made them; the word rule of question answering.
    """

    out: Path
    examples: int
    of: int
    tokenization: str
    kind: str
    word_rule: str | None


@dataclass(frozen=True)
class MainAnswer(QuestionAnswers):
    """A question, its best answer under the main tokenization (null if none; start and end in
    characters of the context), and the answers and windows of every tokenization.
    """

    answer: str | None
    score: float | None
    start: int | None
    end: int | None


@dataclass(frozen=True)
class AnswersAnswer:
    """The answers to questions on a text, and the main tokenization."""

    model: str
    tokenization: str
    word_rule: str
    answers: tuple[MainAnswer, ...]


def _predict(options: Options) -> Answer[PredictAnswer]:
    run = load_run(Path(options.model))
    out = Path(options.out)
    path = Path(options.file)
    check_free_file(out, options.overwrite)
    # 1. The examples: lines of plain text, or a file of the run's kind of task.
    if options.plain:
        split = Split(plain_examples(run, read_lines(path)), path=path)
    else:
        split = run.kind.read_split(path, unit=run.unit)
    if options.word_rule and not run.kind.has_word_rule:
        raise InputError(
            f"--word-rule applies to question answering only; the task of this run is {run.kind}.",
            "Leave it out.",
        )
    split = replace(split, examples=run.apply_word_rule(split.examples, options.word_rule or ""))
    # 2. Predict under every tokenization of the run, and write one of them or the pooled one; blank
    # lines of plain text have no prediction.
    examples = split.examples
    if options.plain:
        examples = tuple(filter(has_words, examples))
    of_tokenizations = run.predict_split(replace(split, examples=examples), options.progress)
    tokenization = select_tokenization(of_tokenizations, options.tokenization)
    predicted = of_tokenizations[tokenization]
    if options.plain:
        predicted = add_blank_lines(split.examples, predicted)
    shown = run.kind.format_predictions(split.examples, predicted, out.suffix == ".jsonl")
    with open_file_draft(out) as draft:
        draft.write_text("".join(shown), encoding="utf-8")
    # 3. What was written.
    word_rule = None
    if run.kind.has_word_rule:
        word_rule = options.word_rule or run.word_rule
    figures = PredictAnswer(out, len(examples), len(split), tokenization, run.kind.name, word_rule)
    return Answer(figures, format_facts(vars(figures)))


def _answer(options: Options) -> Answer[AnswersAnswer]:
    # 1. Answer under every tokenization.
    run = load_run(Path(options.model))
    with open_text_file(Path(options.context)) as source:
        context = source.read_document()
    found = answer(
        run, options.question, context, options.most, options.progress, options.word_rule or ""
    )
    # 2. The tokenization of the main answer, and those that are shown.
    shown = list(found[0].best)
    main = select_tokenization(shown, options.tokenization)
    if options.tokenization:
        shown = [main]
    # 3. A table for each question.
    texts = []
    for one in found:
        rows = [row for name in shown for row in _build_rows(one, name)]
        texts.append(write_terminal(Table(one.question, COLUMNS, rows)))
    answers = tuple(_choose_main(one, main, shown) for one in found)
    answer_set = AnswersAnswer(options.model, main, options.word_rule or run.word_rule, answers)
    return Answer(answer_set, "\n\n".join(texts))


def _choose_main(found: QuestionAnswers, main: str, shown: Sequence[str]) -> MainAnswer:
    """Return the best answer under the main tokenization (None if none), and those that are shown."""
    windows = found.windows
    if main != POOLED:  # pooled logits use the windows of all tokenizations
        windows = {name: window for name, window in windows.items() if name in shown}
    best: dict[str, Any] = dict.fromkeys(("answer", "score", "start", "end"))
    for one in found.best[main][:1]:
        best = {"answer": one.text, "score": one.score, "start": one.start, "end": one.end}
    return MainAnswer(
        question=found.question,
        best={name: found.best[name] for name in shown},
        windows=windows,
        **best,
    )


def _build_rows(found: QuestionAnswers, tokenization: str) -> Iterator[dict[str, object]]:
    part = found.windows.get(tokenization)
    window = f"{part.window} of {part.of}: {part.start}–{part.end}" if part else ""
    if not found.best[tokenization]:
        yield {"tokenization": tokenization, "answer": NONE}
    for one in found.best[tokenization]:
        yield {
            "tokenization": tokenization,
            "answer": " ".join(one.text.split()),
            "score": one.score,
            "probability": one.probability,
            "characters": f"{one.start}–{one.end}",
            "window": window,
        }
        window = ""  # shown with the best answer only


PREDICT = Command(
    _predict,
    (
        option(
            "--model",
            metavar="RUN",
            required=True,
            help="run folder written by finetune, of one seed",
        ),
        option(
            "file",
            metavar="FILE",
            help="examples of the run's kind of task, with or without labels",
        ),
        option(
            "--plain",
            action="store_true",
            help="read FILE as plain text, one sentence or example per line",
        ),
        output_option(
            "--out",
            metavar="FILE",
            required=True,
            help="output file: a word and its tag per line for NER, else JSON lines",
        ),
        option(
            "--tokenization",
            choices=CHOICES,
            default="",
            help="tokenization to use; mixed and both mean pooled (default pooled)",
        ),
        WORD_RULE,
        OVERWRITE_FILE,
    ),
)
ANSWER = Command(
    _answer,
    (
        option(
            "--model",
            metavar="DIR",
            required=True,
            help="run folder written by finetune, or a model folder with a question-answering head",
        ),
        option(
            "--context",
            metavar="FILE",
            required=True,
            help="text file that contains the answers, of any length",
        ),
        option("--question", metavar="Q", nargs="+", required=True, help="questions to answer"),
        option(
            "--tokenization",
            choices=CHOICES,
            default="",
            help="tokenization to use; mixed and both mean pooled (default all)",
        ),
        option(
            "-n",
            between=(1, 1_000),
            default=1,
            metavar="N",
            dest="most",
            help="number of answers per question and tokenization (default 1)",
        ),
        WORD_RULE,
    ),
)
