"""compare: differences of two runs, two tokenizations of a run, or two files of predictions."""

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from vocadapt.analysis.errors.ledger import ALARMS, Ledger, OutcomeCounts, count_outcomes
from vocadapt.analysis.errors.report import Report, format_tokenization_scores
from vocadapt.analysis.errors.slicing import ALL, REST, SLICES, SliceScore, SliceSettings
from vocadapt.analysis.results.tables import format_points
from vocadapt.cli.command import Answer, Command
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_settings
from vocadapt.cli.tables import format_table, number
from vocadapt.errors import InputError
from vocadapt.lab.artifacts.corpora import read_corpus
from vocadapt.lab.reports.ledgers import PairSpec, RunPair, open_pair
from vocadapt.lab.steps.command_lines import PROGRAM
from vocadapt.lab.workspace.drafts import check_free_file, open_file_draft
from vocadapt.lab.workspace.notes import load_notes
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.progress import Progress
from vocadapt.training.finetune.tokenizations import CHOICES
from vocadapt.training.scoring.counts import Rules
from vocadapt.training.scoring.uncertainty import Comparison, Draws
from vocadapt.training.tasks.kinds import TASK_KINDS


def _add_options(parser: Parser) -> None:
    runs = (
        "one or two run folders written by finetune, of one seed each, or files of predictions in"
        " the formats of score"
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help=runs)
    tokenization = (
        "tokenization of both runs, or of each (default pooled; for a single run base and pooled)"
    )
    parser.add_argument(
        "--tokenization",
        nargs="+",
        choices=CHOICES,
        default=[""],
        metavar="CUT",
        help=tokenization,
    )
    parser.add_argument("--gold", metavar="F", default="", help="gold labels, if no run has them")
    parser.add_argument(
        "--kind", choices=tuple(TASK_KINDS), default="", help="kind of task, if no run names it"
    )
    parser.add_argument(
        "--scorer", default="", metavar="S", help="scorer to use instead of the task's"
    )
    add_settings(parser, Rules, "negative", "positive", default="the run's")
    slices = f"slice to list: {', '.join((ALL, *SLICES, REST))}"
    parser.add_argument("--slice", default="", metavar="NAME", help=slices)
    add_settings(parser, SliceSettings)
    parser.add_argument("--html", metavar="FILE", help="file for a self-contained HTML report")
    corpus = "texts in which the report looks words up, besides test and training examples"
    parser.add_argument("--corpus", nargs="+", metavar="TEXT", default=[], help=corpus)
    parser.add_argument("--csv", metavar="FILE", help="file for the entries, one per line")
    parser.add_argument("--overwrite", action="store_true", help="replace the files if they exist")
    parser.add_argument(
        "--workspace", metavar="W", help="workspace whose notes are included in the report"
    )
    add_settings(parser, Draws, "rounds", "seed")


def _compare(options: Namespace, progress: Progress) -> Answer:
    settings = read_settings(options, SliceSettings)
    chosen = options.slice or ("suffix" if options.suffix is not None else ALL)
    files, corpus = _choose_files(options), read_corpus(options.corpus) if options.corpus else None
    found = open_pair(_read_pair(options))
    slicing = found.slicing(settings)
    slicing.title(chosen)
    first, second = found.sides
    counted = count_outcomes(
        found.kind, found.split.gold, first.predictions, second.predictions, found.rules.untyped
    )
    notes = load_notes(Workspace(Path(options.workspace))) if options.workspace else {}
    kept = {id: (note.text, note.tags) for id, note in notes.items()}
    command = shlex.join([*PROGRAM, *sys.argv[1:]]) if sys.argv[1:2] == ["compare"] else ""
    names = (first.name, second.name)
    report = Report(slicing, names, found.test, kept, chosen, command, found.train, corpus)
    for file, make in (
        (files.get("html"), partial(report.html, progress)),
        (files.get("csv"), report.csv),
    ):
        if file:
            with open_file_draft(file) as draft:
                draft.write_text(make(), encoding="utf-8", errors="replace")
    answer = {
        "a": found.spec.first,
        "b": found.spec.second,
        "cuts": list(found.tokenizations),
        "test": asdict(found.test),
        "fates": [each.to_dict() for each in counted],
        "ledger": report.to_dict(),
        **{name: str(file) for name, file in files.items()},
    }
    return Answer(answer, _render(found, counted, report))


def _read_pair(options: Namespace) -> PairSpec:
    if len(options.runs) > 2:
        raise InputError(
            f"Two are compared, {len(options.runs)} were given.",
            "Give one run, or two runs or files.",
        )
    tokenizations = (
        options.tokenization * 2 if len(options.tokenization) == 1 else options.tokenization
    )
    if len(options.runs) == 1 and len(options.tokenization) == 1:
        tokenizations = ["", *options.tokenization]
    draws = read_settings(options, Draws)
    if len(tokenizations) != 2 or draws.rounds < 1:
        raise InputError(
            "Expected one or two tokenizations, and at least one resample.",
            "Such as --tokenization base pooled --rounds 1000.",
        )
    first, second = [*options.runs, ""][:2]
    return PairSpec(
        first,
        second,
        (tokenizations[0], tokenizations[1]),
        options.gold,
        options.kind,
        options.scorer,
        draws,
        tuple(options.negative or ()),
        options.positive or "",
    )


def _choose_files(options: Namespace) -> dict[str, Path]:
    """Return the output files by format; raise InputError for one that cannot be written."""
    if options.corpus and not options.html:
        raise InputError(
            "Only the HTML report shows the lines of a corpus.",
            "Add --html FILE, or leave --corpus out.",
        )
    files = {name: Path(given) for name in ("html", "csv") if (given := getattr(options, name))}
    if len({os.path.realpath(file) for file in files.values()}) < len(files):
        raise InputError(
            "The report and the entries would be written into one file.",
            "Give --html and --csv a file each.",
        )
    for file in files.values():
        check_free_file(file, options.overwrite)
    return files


def _render(found: RunPair, counted: Sequence[OutcomeCounts], report: Report) -> str:
    book = report.slicing.ledger
    parts = [
        _describe_test(found.test, found.tokenizations),
        f"{report.definition}.",
        _render_outcomes(counted),
        _describe_alarms(book),
        _render_kinds(book),
        _render_slices(report.slicing.scores()),
    ]
    if by_tokenization := report.slicing.by_tokenization(report.slice):
        title = f"which tokenization was right: {report.slicing.title(report.slice)}"
        parts.append(
            format_table((title, *by_tokenization), format_tokenization_scores(by_tokenization))
        )
    if report.slice != ALL:
        held = [one for one in report.slicing.scores([report.slice])]
        parts.append(f"Listed: {len(report.entries):,} entries of the slice {held[0].title!r}.")
    return "\n\n".join(filter(None, parts))


def _describe_test(test: Comparison, tokenizations: tuple[str, str]) -> str:
    low, high = test.interval.low, test.interval.high
    mcnemar = "" if test.p_mcnemar is None else f", exact McNemar p = {number(test.p_mcnemar)}"
    first, second = (f" ({tokenization})" if tokenization else "" for tokenization in tokenizations)
    return (
        f"{test.scorer}: {number(test.a)}{first} → {number(test.b)}{second}, difference"
        f" {test.difference:+.4f} ({test.interval.level:.0%} interval {low:+.4f} to"
        f" {high:+.4f})\napproximate randomisation over {test.units:,} units, {test.rounds:,}"
        f" draws: p = {number(test.p_randomisation)}{mcnemar}"
    )


def _render_outcomes(counted: Sequence[OutcomeCounts]) -> str:
    return format_table(
        ("unit", *counted[0].counts), [(each.unit, *each.counts.values()) for each in counted]
    )


def _describe_alarms(book: Ledger) -> str:
    return (
        ", ".join(f"{name} {book.counts[name]:,}" for name in ALARMS)
        if any(book.counts[name] for name in ALARMS)
        else ""
    )


def _render_kinds(book: Ledger) -> str:
    rows: list[tuple[Any, ...]] = [
        (kind, counts["first"], counts["second"]) for kind, counts in book.kinds.items()
    ]
    return format_table(("kind of error", "first", "second"), rows) if rows else ""


def _render_slices(slices: Sequence[SliceScore]) -> str:
    rows = [
        (one.title, one.n, format_points(one.difference) or "–", f"{one.fixed:,} : {one.broken:,}")
        for one in slices
    ]
    return format_table(("slice", "n", "Δ points", "fixed : broken"), rows)


COMPARE = Command(_add_options, _compare)
