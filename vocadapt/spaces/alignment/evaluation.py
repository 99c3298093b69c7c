"""What an evaluation of alignments on held-out words found: scores, their table and findings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vocadapt.report.formats import (
    MIN_EXACT_P,
    format_chance,
    format_fraction,
    format_p_value,
    format_signed,
)
from vocadapt.report.table import Column, Finding, Table
from vocadapt.spaces.alignment.anchors import AnchorFilter
from vocadapt.spaces.alignment.display_name import describe_method
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.system.json_values import json_name

CHANCE = "chance"
BETTER = "better than chance"


@dataclass(frozen=True)
class RankingScores:
    """P@k among some candidates, P@5 of random guessing, and the number of candidates."""

    p1: float = field(metadata=json_name("p@1"))
    p5: float = field(metadata=json_name("p@5"))
    p10: float = field(metadata=json_name("p@10"))
    chance5: float = field(metadata=json_name("chance@5"))
    candidates: int


@dataclass(frozen=True)
class CandidateScores(RankingScores):
    """P@k among the wordpieces of all anchors, and among all wordpieces."""

    all_pieces: RankingScores


@dataclass(frozen=True)
class LengthScores:
    """Norms of mapped words relative to their own wordpieces: median ratio, and mean error."""

    ratio: float
    error: float


@dataclass(frozen=True)
class ReweightedScores:
    """P@k as expected for the words that can be added, their number, and the fraction of them whose
    like is among the own words.
    """

    p1: float = field(metadata=json_name("p@1"))
    p5: float = field(metadata=json_name("p@5"))
    new_words: int
    matched: float


@dataclass(frozen=True)
class StackedScores:
    """P@k of stacked embeddings among all wordpieces, on held-out own words of the model."""

    p1: float = field(metadata=json_name("p@1"))
    p5: float = field(metadata=json_name("p@5"))
    reweighted: ReweightedScores
    anchors: int
    candidates: int
    folds: int

    @property
    def finding(self) -> Finding:
        """How precisely stacked embeddings place words."""
        sentence = (
            f"Stacked embeddings, from context and form: P@1 {format_fraction(self.p1)}, P@5"
            f" {format_fraction(self.p5)} among all {self.candidates:,} wordpieces"
            f" ({self.anchors:,} held-out words)"
        )
        expected = self.reweighted
        if expected.new_words:
            words = f"{expected.new_words:,} new word{'s' * (expected.new_words != 1)}"
            p1 = format_fraction(expected.p1)
            p5 = format_fraction(expected.p5)
            sentence += f"; expected for {words}: {p1} and {p5}"
        return Finding("stacked", f"{sentence}.")


@dataclass(frozen=True)
class HeldOutScores(CandidateScores):
    """Means over the folds; of `words` held-out anchors.

    cosine: of a mapped word and its own wordpiece. csls: ranked by CSLS. verdict: CHANCE or BETTER.
    length: None if it was not measured; stacked: of stacked embeddings, beside the first alignment.
    """

    cosine: float
    csls: CandidateScores
    folds: int
    verdict: str
    words: int | None = None
    length: LengthScores | None = None
    stacked: StackedScores | None = None


@dataclass(frozen=True)
class FoldComparison:
    """The difference of two alignments' P@k over the folds, with a paired t-test.

    won: number of folds in which the first is better. The test is corrected for the training data
    that folds share (Nadeau and Bengio 2003, Inference for the generalization error).
    """

    difference: float
    sd: float
    won: int
    folds: int
    p: float


@dataclass(frozen=True)
class EvaluatedAlignment:
    """An alignment and its held-out scores.

    never_produced: number of shared words that are no anchors, since the tokenizer never produces
    them. best: whether it is the best of its table. against_first: its comparison with the first
    alignment of its table.
    """

    method: str
    anchors: int
    held_out: HeldOutScores
    seconds: float
    settings: AlignmentSettings
    never_produced: int = 0
    best: bool = False
    against_first: FoldComparison | None = None

    @property
    def title(self) -> str:
        """Its method, and all settings that are not the default."""
        return describe_method(self.settings)

    @property
    def basis(self) -> tuple[AnchorFilter, int, int]:
        """Anchors and folds of the evaluation; alignments are compared only if these are equal."""
        return self.settings.anchors, self.anchors, self.held_out.folds

    @property
    def at_chance(self) -> bool:
        """Whether the alignment is no better than chance."""
        return self.held_out.verdict == CHANCE


CSLS_ABOUT = "P@5 with CSLS retrieval, which penalizes hubs (wordpieces that are near everything)."
COLUMNS = (
    Column("title", "Alignment"),
    Column(
        "anchors", "Anchors", "Words in both spaces: it is fitted and evaluated on them.", "number"
    ),
    Column("held_out.cosine", "Cosine", "Of a mapped word and its own wordpiece.", "fraction"),
    Column("held_out.p1", "P@1", "As P@5, the nearest.", "fraction"),
    Column(
        "held_out.p5",
        "P@5",
        "Fraction of held-out anchors whose own wordpiece is among the five nearest of all anchors'"
        " wordpieces.",
        "fraction",
    ),
    Column("held_out.p10", "P@10", "As P@5, among the ten nearest.", "fraction"),
    Column("held_out.csls.p1", "P@1 · CSLS", "As P@1, with CSLS retrieval.", "fraction"),
    Column("held_out.csls.p5", "P@5 · CSLS", CSLS_ABOUT, "fraction"),
    Column("held_out.chance5", "Chance", "P@5 of random guessing.", "chance"),
    Column("held_out.length.ratio", "Length", "Median norm, mapped ÷ own wordpiece.", "fraction"),
    Column("held_out.all_pieces.p5", "P@5 · all", "P@5 among all wordpieces.", "fraction"),
    Column("held_out.csls.all_pieces.p5", "P@5 · CSLS · all", "The same, by CSLS.", "fraction"),
    Column("held_out.all_pieces.chance5", "Chance · all", "P@5 of random guessing.", "chance"),
    Column("held_out.all_pieces.candidates", "Wordpieces", "Number of them.", "number"),
    Column("held_out.verdict", "Verdict", "Whether P@5 is better than chance, by a binomial test."),
)


def build_table(
    alignments: Sequence[EvaluatedAlignment], left_out: Mapping[str, str] | None = None
) -> Table:
    """Return evaluated alignments as a table, and what it does not have, with the reason."""
    folds = alignments[0].held_out.folds
    measured = f"Scores are means over {folds} folds of held-out anchors."
    if folds == 1:
        measured = (
            "The method was chosen on some of the anchors; the scores are those of the others."
        )
    missing = [f"Not in the table: {method} ({why})." for method, why in (left_out or {}).items()]
    return Table("", COLUMNS, alignments, (measured, *missing))


def list_findings(alignments: Sequence[EvaluatedAlignment]) -> tuple[Finding, ...]:
    """Return what the evaluation of alignments shows, the chosen one first."""
    findings: list[Finding] = []
    first = alignments[0]
    if first.held_out.stacked is not None:
        findings.append(first.held_out.stacked.finding)
    findings += [
        describe_best(best, first.title, len(alignments))
        for best in alignments
        if best.best and best.against_first
    ]
    if unused := first.never_produced:
        sentence = (
            f"{unused:,} shared words are no anchors: the model's tokenizer never produces them."
        )
        findings.append(Finding("never_produced", sentence))
    if first.at_chance:
        level = format_chance(first.held_out.chance5)
        sentence = (
            f"This alignment finds the right wordpiece no more often than chance ({level} for P@5):"
            " there is too little text, or text of another language."
        )
        findings.append(Finding("at_chance", sentence))
    return tuple(findings)


def describe_best(best: EvaluatedAlignment, first: str, among: int) -> Finding:
    """Describe the best alignment and its paired test against the first, which is called `first`."""
    sentence = f"Best on this data: {best.title}"
    if against := best.against_first:
        # A small p is already written as a bound, with its own sign.
        relation = "" if against.p < MIN_EXACT_P else "= "
        sentence += (
            f" (P@5 · CSLS {format_signed(against.difference)} vs {first}, better in"
            f" {against.won} of {against.folds} folds, p {relation}{format_p_value(against.p)};"
            f" selected among {among:,} methods on the same folds, so p is optimistic)"
        )
    return Finding("best", f"{sentence}.")
