"""compare: differences of two runs, two tokenizations of a run, or two files of predictions."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NotRequired, TypedDict, cast

from vocadapt.analysis.errors.ledger import ALARMS, OutcomeCounts, count_outcomes
from vocadapt.analysis.errors.report import Report, format_tokenization_scores
from vocadapt.analysis.errors.slicing import ALL, REST, SLICES, SliceSettings
from vocadapt.analysis.errors.word_tokenizations import TokenizedWord
from vocadapt.cli.command import Answer, Command, Options, option, read_settings, setting_options
from vocadapt.cli.tables import format_number, format_table
from vocadapt.cli.workspace_options import output_option
from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.reports.ledgers import PairSpec, RunPair, open_pair
from vocadapt.lab.steps.command_lines import PROGRAM
from vocadapt.lab.workspace.drafts import check_free_file, open_file_draft
from vocadapt.lab.workspace.notes import load_notes
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.formats import format_points
from vocadapt.training.finetune.tokenizations import CHOICES
from vocadapt.training.scoring.counts import Rules
from vocadapt.training.scoring.uncertainty import Comparison, Draws
from vocadapt.training.tasks.kinds import TASK_KINDS

Outcomes = TypedDict(
    "Outcomes",
    {"unit": str, "fixed": int, "broken": int, "both wrong": int, "both right": int},
)


class ErrorsOfKind(TypedDict):
    """Numbers of errors of a kind on both sides."""

    first: int
    second: int


class SliceAnswer(TypedDict):
    """A slice of n units: both scores, their difference, fixed and broken units."""

    slice: str
    title: str
    n: int
    first: float | None
    second: float | None
    difference: float | None
    fixed: int
    broken: int


class Claim(TypedDict):
    """What was predicted, and its kind of error ("" for none)."""

    said: str
    error: str


class VoteAnswer(TypedDict):
    """A disagreement of the tokenizations, and which of them the pooled prediction overrules."""

    at: str
    said: dict[str, str]
    margins: dict[str, float]
    outvoted: list[str]
    line: str


class EntryAnswer(TypedDict):
    """A unit that is not right on both sides."""

    id: str
    where: str
    example: int
    fate: str
    event: str
    label: str
    gold: str
    first: Claim
    second: Claim
    tokenizations: dict[str, Claim]
    vote: VoteAnswer | None
    words: list[TokenizedWord]
    made_of: list[str]
    note: str
    tags: list[str]


class LedgerAnswer(TypedDict):
    """Counts of outcomes, slices, scores by tokenization (`by_tokenization`), and the entries."""

    first: str
    second: str
    kind: str
    slice: str
    definition: str
    counts: dict[str, int]
    by_label: dict[str, dict[str, int]]
    kinds: dict[str, ErrorsOfKind]
    slices: list[SliceAnswer]
    by_tokenization: dict[str, dict[str, float]]
    by_tokenization_of: str
    entries: list[EntryAnswer]
    entries_left_out: dict[str, int]


class CompareAnswer(TypedDict):
    """Two runs or predictions: paired test (b minus a), outcomes, ledger of errors, written files."""

    a: str
    b: str
    tokenizations: list[str]
    test: Comparison
    fates: list[Outcomes]
    ledger: LedgerAnswer
    html: NotRequired[str]
    csv: NotRequired[str]


def _compare(options: Options) -> Answer[CompareAnswer]:
    # 1. The runs to compare, and the output files.
    settings = read_settings(options, SliceSettings)
    chosen = options.slice
    if not chosen:
        chosen = ALL
        if options.suffix is not None:
            chosen = "suffix"
    files = _choose_files(options)
    notes = {}
    corpus = read_corpus(options.corpus) if options.corpus else None
    found = open_pair(_read_pair(options))

    # 2. The outcomes of the examples, and the report.
    slicing = found.slicing(settings)
    slicing.title(chosen)  # raises InputError for an unknown slice, before the slow part
    first, second = found.sides
    counted = count_outcomes(
        found.kind, found.split.gold, first.predictions, second.predictions, found.rules.untyped
    )
    if options.workspace:
        for id, note in load_notes(Workspace(Path(options.workspace))).items():
            notes[id] = (note.text, note.tags)
    # The report shows its command line; a caller from Python has none.
    command = ""
    if sys.argv[1:2] == ["compare"]:
        command = shlex.join([*PROGRAM, *sys.argv[1:]])
    report = Report(
        slicing,
        (first.name, second.name),
        found.test,
        notes,
        chosen,
        command,
        found.train,
        corpus,
    )

    # 3. The files.
    for name, file in files.items():
        if name == "html":
            content = report.html(options.progress)
        else:
            content = report.csv()
        with open_file_draft(file) as draft:
            draft.write_text(content, encoding="utf-8", errors="replace")
    answer = {
        "a": found.spec.first,
        "b": found.spec.second,
        "tokenizations": list(found.tokenizations),
        "test": found.test,
        "fates": [each.to_dict() for each in counted],
        "ledger": report.to_dict(),
        **{name: str(file) for name, file in files.items()},
    }
    return Answer(cast(CompareAnswer, answer), _render(found, counted, report))


def _read_pair(options: Options) -> PairSpec:
    if len(options.runs) > 2:
        raise InputError(
            f"Expected one or two runs, got {len(options.runs)}.",
            "Give one run, or two runs or files.",
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
        )
    for file in files.values():
        check_free_file(file, options.overwrite)
    return files


def _render(found: RunPair, counted: Sequence[OutcomeCounts], report: Report) -> str:
    # 1. The test, and the outcomes in each unit.
    ledger = report.slicing.ledger
    parts = [
        _describe_test(found.test, found.tokenizations),
        f"{report.definition}.",
        format_table(
            ("unit", *counted[0].counts), [(each.unit, *each.counts.values()) for each in counted]
        ),
    ]

    # 2. Kinds of errors, and slices.
    if any(ledger.counts[name] for name in ALARMS):
        parts.append(", ".join(f"{name} {ledger.counts[name]:,}" for name in ALARMS))
    kinds = [(kind, own["first"], own["second"]) for kind, own in ledger.kinds.items()]
    if kinds:
        parts.append(format_table(("kind of error", "first", "second"), kinds))
    rows = []
    for one in report.slicing.scores():
        rows.append(
            (
                one.title,
                one.n,
                format_points(one.difference) or "–",
                f"{one.fixed:,} : {one.broken:,}",
            )
        )
    parts.append(format_table(("slice", "n", "Δ points", "fixed : broken"), rows))

    # 3. The chosen slice.
    if by_tokenization := report.slicing.by_tokenization(report.slice):
        title = f"which tokenization was right: {report.slicing.title(report.slice)}"
        parts.append(
            format_table((title, *by_tokenization), format_tokenization_scores(by_tokenization))
        )
    if report.slice != ALL:
        title = report.slicing.scores([report.slice])[0].title
        parts.append(f"Listed: {len(report.entries):,} entries of the slice {title!r}.")
    return "\n\n".join(parts)


def _describe_test(test: Comparison, tokenizations: tuple[str, str]) -> str:
    mcnemar = (
        "" if test.p_mcnemar is None else f", exact McNemar p = {format_number(test.p_mcnemar)}"
    )
    sides = []
    for score, tokenization in zip((test.a, test.b), tokenizations, strict=True):
        side = format_number(score)
        if tokenization:
            side += f" ({tokenization})"
        sides.append(side)
    return (
        f"{test.scorer}: {' → '.join(sides)}, difference"
        f" {test.difference:+.4f} ({test.interval.describe('{:+.4f}'.format)})\n"
        f"approximate randomization over {test.units:,} units, {test.rounds:,} resamples:"
        f" p = {format_number(test.p_randomisation)}{mcnemar}"
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
