"""The command advise. Proportions in its JSON are fractions, unknown values null; the keys:

verdict ("adapt" or "keep"), sentence, reasons (rule, stops, says, why), corpus and task (words,
distinct, cut, cut_distinct, unknown, fertility, pieces), anchors, width, min_count, expected (p@5,
low, high, chance, words, outside), top_saved, added (one entry for each floor under the occurrences
of an added word), recipes (preset, max_added, map, command), first (the command that they all need
before), cut_words, lines of lines_read, task_file (entities, sentences, tokens), counts ("kept" or
"counted"), seconds.
"""

from argparse import Namespace
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import add_casing, add_model, add_text, corpus_settings, read_lowercase
from vocadapt.cli.parser import Parser
from vocadapt.cli.tables import format_table
from vocadapt.lab.artifacts.corpora import read_corpus
from vocadapt.lab.reports.advice import AdviceReport, advise_on, build_advice_answer, find_workspace
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.progress import Progress
from vocadapt.vocabulary.growth.word_tokenizations import TokenizationStatistics

TASK = (
    "tagged sentences, word TAB tag on each line and blank lines between sentences: report on the"
    " words of their entities, too"
)


def _add_options(parser: Parser) -> None:
    parser.epilog = (
        "JSON: verdict (adapt or keep), sentence, reasons, corpus, task, anchors, expected"
        " (held-out P@5), added (by floor), first and recipes (with command lines), cut_words,"
        " lines of lines_read, seconds; fractions, not percents. The exit code is 0 for either"
        " verdict."
    )
    parser.add_argument(
        "text",
        nargs="+",
        metavar="CORPUS",
        help="files and folders of text, or a corpus of a workspace",
    )
    add_model(parser)
    parser.add_argument("--task", metavar="FILE", help=TASK)
    parser.add_argument(
        "--workspace",
        metavar="W",
        default="workspace",
        help="workspace with stored word counts (default ./workspace)",
    )
    add_casing(parser)
    add_text(parser)


def _advise(options: Namespace, progress: Progress) -> Answer:
    settings = corpus_settings(options)
    model = open_model(options.model, options.offline or None, read_lowercase(options))
    root = find_workspace(options.text) or Workspace(Path(options.workspace)).root
    task = Path(options.task) if options.task else None
    asked = advise_on(read_corpus(options.text, settings), model, root, task, progress=progress)
    answer = build_advice_answer(asked, options.text, options.model, settings)
    return Answer(answer, _render(asked, answer))


def _render(asked: AdviceReport, answer: dict[str, Any]) -> str:
    """Render the advice: verdict, reasons, figures, expected gains, recommended commands."""
    advice, figures = asked.advice, asked.advice.figures
    reasons = [
        f"{'STOP' if found.stops else 'note'}  {found.says} {found.why}"
        for found in advice.findings
    ]
    rows = [
        _build_row("text", figures.corpus),
        *([_build_row("task's entities", figures.task)] if figures.task else []),
    ]
    statistics = format_table(
        (
            "words with a letter",
            "running",
            "split",
            "distinct",
            "split",
            "unknown",
            "wordpieces per word",
        ),
        rows,
    )
    gains = [
        (
            g.floor,
            g.words,
            g.saved,
            g.fertility,
            g.mended,
            g.mended_task,
            g.under_few,
            g.under_enough,
            g.parameters,
            None if g.bytes is None else g.bytes / 1e6,
            g.model_share,
        )
        for g in figures.gains
    ]
    header = (
        "seen at least",
        "words added",
        "tokens saved",
        "wordpieces per word",
        "made whole",
        "in the task",
        "under 20",
        "under 50",
        "parameters",
        "MB",
        "of the model",
    )
    expected = figures.forecast
    lines = [
        advice.sentence,
        *reasons,
        "",
        statistics,
        "",
        format_table(header, gains),
        "",
        (
            f"anchors {figures.anchors:,}; expected held-out P@5 {expected.p5:.3g}"
            f" ({expected.low:.3g} to {expected.high:.3g}), chance {expected.chance:.3g};"
            f" {figures.lines:,} of {figures.lines_read:,} lines, {asked.seconds:.1f} s"
        ),
    ]
    if advice.recipes:
        lines += [
            "",
            "Worth a run:",
            answer["first"],
            *(entry["command"] for entry in answer["recipes"]),
        ]
    return "\n".join(lines)


def _build_row(name: str, statistics: TokenizationStatistics) -> tuple[str | int | float, ...]:
    return (
        name,
        statistics.words,
        statistics.share,
        statistics.distinct,
        statistics.share_distinct,
        statistics.unknown_share,
        statistics.fertility,
    )


ADVISE = Command(_add_options, _advise)
