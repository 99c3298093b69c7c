"""compare: differences of two runs, two tokenizations of a run, or two files of predictions."""

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vocadapt.analysis.errors.ledger import ALARMS, OutcomeCounts, count_outcomes
from vocadapt.analysis.errors.report import (
    KINDS,
    OUTCOME_COLUMNS,
    ErrorAnalysis,
    Report,
    build_tokenization_table,
    summarize_comparison,
)
from vocadapt.analysis.errors.slicing import ALL, REST, SLICES, SliceSettings
from vocadapt.analysis.errors.slicing import COLUMNS as SLICE_COLUMNS
from vocadapt.cli.command import Answer, Command, Options, option, read_settings, setting_options
from vocadapt.cli.tables import format_number
from vocadapt.cli.workspace_options import output_option
from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.reports.ledgers import PairSpec, RunPair, open_pair
from vocadapt.lab.steps.command_lines import PROGRAM
from vocadapt.lab.workspace.drafts import check_free_file, open_file_draft
from vocadapt.lab.workspace.notes import load_notes
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.table import Column, Table
from vocadapt.report.terminal import write_terminal
from vocadapt.training.finetune.tokenizations import CHOICES
from vocadapt.training.scoring.counts import Rules
from vocadapt.training.scoring.uncertainty import Comparison, Draws
from vocadapt.training.tasks.kinds import TASK_KINDS


@dataclass(frozen=True)
class ComparedRuns:
    """Two runs or predictions: paired test (b minus a), outcomes, ledger of errors, and the written
    files.
    """

    a: str
    b: str
    tokenizations: tuple[str, ...]
    test: Comparison
    outcomes: tuple[OutcomeCounts, ...]
    ledger: ErrorAnalysis
    html: Path | None
    csv: Path | None


def _compare(options: Options) -> Answer[ComparedRuns]:
    # 1. The runs, their report, and the outcomes of the examples.
    files = _choose_files(options)
    found = open_pair(_read_pair(options))
    report = _build_report(found, options)
    first, second = found.sides
    counted = count_outcomes(
        found.kind, found.split.gold, first.predictions, second.predictions, found.rules.untyped
    )

    # 2. The files.
    for name, file in files.items():
        if name == "html":
            content = report.html(options.progress)
        else:
            content = report.csv()
        with open_file_draft(file) as draft:
            draft.write_text(content, encoding="utf-8", errors="replace")
    analysis = report.build_analysis()
    answer = ComparedRuns(
        a=found.spec.first,
        b=found.spec.second,
        tokenizations=found.tokenizations,
        test=found.test,
        outcomes=counted,
        ledger=analysis,
        html=files.get("html"),
        csv=files.get("csv"),
    )
    return Answer(answer, _render(found, counted, report, analysis))


def _build_report(found: RunPair, options: Options) -> Report:
    """Build the report of a pair; raises InputError for an unknown slice, before the slow part."""
    chosen = options.slice
    if not chosen:
        chosen = ALL if options.suffix is None else "suffix"
    corpus = read_corpus(options.corpus) if options.corpus else None
    slicing = found.slicing(read_settings(options, SliceSettings))
    slicing.title(chosen)
    notes = {}
    if options.workspace:
        for id, note in load_notes(Workspace(Path(options.workspace))).items():
            notes[id] = (note.text, note.tags)
    # The report shows its command line; a caller from Python has none.
    command = ""
    if sys.argv[1:2] == ["compare"]:
        command = shlex.join([*PROGRAM, *sys.argv[1:]])
    names = found.sides[0].name, found.sides[1].name
    return Report(slicing, names, found.test, notes, chosen, command, found.train, corpus)


def _read_pair(options: Options) -> PairSpec:
    if len(options.runs) > 2:
        raise InputError(
            f"Expected one or two runs, got {len(options.runs)}.",
            "Give one run, or two runs or files.",
            code="number-of-runs",
        )
    tokenizations = options.tokenization
    draws = read_settings(options, Draws)
    if len(tokenizations) == 1:
        other = tokenizations[0]
        if len(options.runs) == 1:
            other = ""  # the run's base tokenization
        tokenizations = [other, *tokenizations]
    if len(tokenizations) != 2 or draws.rounds < 1:
        raise InputError(
            "Expected one or two tokenizations, and at least one resample.",
            "For example: --tokenization base pooled --rounds 1000.",
            code="number-of-tokenizations",
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


def _choose_files(options: Options) -> dict[str, Path]:
    """Return the output files by format; raise InputError for one that cannot be written."""
    if options.corpus and not options.html:
        raise InputError(
            "Only the HTML report shows the lines of a corpus.",
            "Add --html FILE, or leave --corpus out.",
        )
    files = {name: Path(given) for name in ("html", "csv") if (given := getattr(options, name))}
    # Real paths are compared, because a link may refer to the same file.
    if len({os.path.realpath(file) for file in files.values()}) < len(files):
        raise InputError(
            "--html and --csv name the same file.",
            "Give a different file for each.",
            code="same-file",
        )
    for file in files.values():
        check_free_file(file, options.overwrite)
    return files


def _render(
    found: RunPair, counted: Sequence[OutcomeCounts], report: Report, analysis: ErrorAnalysis
) -> str:
    # 1. The test, and the outcomes in each unit.
    units = [{"unit": each.unit, **each.counts} for each in counted]
    parts = [
        _describe_test(found.test, found.tokenizations),
        f"{report.definition}.",
        *(finding.sentence for finding in analysis.findings),
        write_terminal(Table("", (Column("unit", "Unit"), *OUTCOME_COLUMNS), units)),
    ]

    # 2. Kinds of errors, and slices.
    if any(analysis.counts[name] for name in ALARMS):
        parts.append(", ".join(f"{name} {analysis.counts[name]:,}" for name in ALARMS))
    if analysis.kinds:
        parts.append(write_terminal(Table("", KINDS, analysis.kinds)))
    parts.append(write_terminal(Table("", SLICE_COLUMNS, analysis.slices)))

    # 3. The chosen slice.
    if by_tokenization := report.slicing.by_tokenization(report.slice):
        title = f"Scores by tokenization: {analysis.by_tokenization_of}"
        parts.append(write_terminal(build_tokenization_table(title, by_tokenization)))
    if report.slice != ALL:
        title = report.slicing.scores([report.slice])[0].title
        parts.append(f"Listed: {len(analysis.entries):,} entries of the slice {title!r}.")
    return "\n\n".join(parts)


def _describe_test(test: Comparison, tokenizations: tuple[str, str]) -> str:
    scores, difference = summarize_comparison(test, f"{test.scorer}:")
    if any(tokenizations):
        scores += f" ({' → '.join(tokenizations)})"
    mcnemar = ""
    if test.p_mcnemar is not None:
        mcnemar = f"; exact McNemar p = {format_number(test.p_mcnemar)}"
    return (
        f"{scores}, {difference}\n"
        f"approximate randomization over {test.units:,} units, {test.rounds:,} resamples{mcnemar}"
    )


COMPARE = Command(
    _compare,
    (
        option(
            "runs",
            nargs="+",
            metavar="RUN",
            help="one or two run folders written by finetune, of one seed each, or files of"
            " predictions in the formats of score",
        ),
        option(
            "--tokenization",
            nargs="+",
            choices=CHOICES,
            default=[""],
            metavar="NAME",
            help="tokenization of both runs, or one for each (default pooled; for a single run base"
            " and pooled)",
        ),
        option("--gold", metavar="F", default="", help="gold labels (default: the run's)"),
        option("--kind", choices=TASK_KINDS, default="", help="kind of task (default: the run's)"),
        option("--scorer", default="", metavar="S", help="scorer to use instead of the task's"),
        setting_options(Rules, "negative", "positive", shown_default="the run's"),
        option(
            "--slice",
            default="",
            metavar="NAME",
            help=f"slice to list: {', '.join((ALL, *SLICES, REST))}",
        ),
        setting_options(SliceSettings),
        output_option("--html", metavar="FILE", help="file for a self-contained HTML report"),
        option(
            "--corpus",
            nargs="+",
            metavar="TEXT",
            default=[],
            help="texts in which the report looks words up, besides test and training examples",
        ),
        output_option("--csv", metavar="FILE", help="file for the entries, one per line"),
        option("--overwrite", action="store_true", help="replace the files if they exist"),
        output_option(
            "--workspace", metavar="W", help="workspace whose notes are included in the report"
        ),
        setting_options(Draws, "rounds", "seed"),
    ),
)
