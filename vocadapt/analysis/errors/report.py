"""Export of an error ledger: a self-contained HTML page, CSV and JSON.

A report states everything that it omits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vocadapt.analysis.comparison import LEVEL
from vocadapt.analysis.errors import html as error_html
from vocadapt.analysis.errors.entry_lines import (
    build_card,
    describe_new_tokens,
    format_claim,
    words_of_entry,
)
from vocadapt.analysis.errors.html import escape
from vocadapt.analysis.errors.keywords import find_keywords
from vocadapt.analysis.errors.ledger import (
    ADDED,
    ALARMS,
    BROKEN,
    FIXED,
    KEPT,
    OUTCOMES,
    REMOVED,
    RIGHT,
    WRONG,
    Entry,
    ErrorsOfKind,
)
from vocadapt.analysis.errors.slicing import ALL, SliceScore, Slicing
from vocadapt.analysis.errors.slicing import COLUMNS as SLICES
from vocadapt.analysis.errors.votes import Vote
from vocadapt.analysis.errors.word_tokenizations import TokenizedWord
from vocadapt.progress import Progress, count, silent
from vocadapt.report.formats import (
    MIN_EXACT_P,
    format_fraction,
    format_metric_name,
    format_p_value,
    format_points,
)
from vocadapt.report.table import Column, Finding, Table
from vocadapt.text.corpus import Corpus
from vocadapt.text.spreadsheet import format_csv
from vocadapt.training.examples.examples import Example
from vocadapt.training.finetune.tokenizations import ALL_TOKENIZATIONS, label_tokenization
from vocadapt.training.scoring.counts import Score
from vocadapt.training.scoring.uncertainty import Comparison
from vocadapt.training.tasks.kinds.judgment import Claim

# Entries with these outcomes are listed; units that are right on both sides are only counted.
LISTED_OUTCOMES = (FIXED, BROKEN, WRONG, REMOVED, ADDED, KEPT)
OUTCOME_NOTES = {
    FIXED: "wrong before, right now",
    BROKEN: "right before, wrong now",
    WRONG: "wrong before and now",
    RIGHT: "right before and now",
}


@dataclass(frozen=True)
class ListedClaim:
    """What was predicted, and its kind of error ("" for none)."""

    predicted: str
    error: str


@dataclass(frozen=True)
class ListedVote:
    """A disagreement of the tokenizations, and which of them the pooled prediction overrules."""

    at: str
    predicted: Mapping[str, str]
    margins: Mapping[str, float]
    outvoted: tuple[str, ...]
    line: str


@dataclass(frozen=True)
class ListedEntry:
    """A unit that is not right on both sides."""

    id: str
    where: str
    example: int
    outcome: str
    event: str
    label: str
    gold: str
    first: ListedClaim
    second: ListedClaim
    tokenizations: Mapping[str, ListedClaim]
    vote: ListedVote | None
    words: tuple[TokenizedWord, ...]
    made_of: tuple[str, ...]
    note: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class ErrorAnalysis:
    """Counts of outcomes, slices, scores by tokenization (`by_tokenization`), and the entries."""

    first: str
    second: str
    kind: str
    slice: str
    definition: str
    counts: Mapping[str, int]
    by_label: Mapping[str, Mapping[str, int]]
    kinds: tuple[ErrorsOfKind, ...]
    slices: tuple[SliceScore, ...]
    by_tokenization: Mapping[str, Mapping[str, float]]
    by_tokenization_of: str
    findings: tuple[Finding, ...]
    entries: tuple[ListedEntry, ...]
    entries_left_out: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Report:
    """A sliced ledger and the contents of its report: names of both sides, paired test, notes,
    slice, command line.

    `train` and `corpus`: texts, besides the test examples, that the HTML page searches for words.
    `why_no_corpus`: why a known corpus was not searched.
    """

    slicing: Slicing
    names: tuple[str, str]
    test: Comparison
    notes: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    slice: str = ALL
    command: str = ""
    train: Sequence[Example] | None = None
    corpus: Corpus | None = None
    why_no_corpus: str = ""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The listed entries, by outcome."""
        entries = [one for one in self.slicing.entries(self.slice) if one.outcome != RIGHT]
        return tuple(sorted(entries, key=lambda entry: LISTED_OUTCOMES.index(entry.outcome)))

    @property
    def definition(self) -> str:
        """Name of the score and its definition."""
        return f"{self.slicing.scorer.name}: {self.slicing.definition}"

    def build_analysis(self) -> ErrorAnalysis:
        """Return counts, slices, scores by tokenization, and all entries except those that are
        right on both sides.
        """
        ledger, listed = self.slicing.ledger, self.entries
        scores = self.slicing.by_tokenization(self.slice)
        return ErrorAnalysis(
            first=self.names[0],
            second=self.names[1],
            kind=ledger.kind.name,
            slice=self.slice,
            definition=self.definition,
            counts=ledger.counts,
            by_label=ledger.by_label,
            kinds=ledger.kinds,
            slices=tuple(self.slicing.scores()),
            by_tokenization={name: dict(score.values) for name, score in scores.items()},
            by_tokenization_of=self.slicing.title(self.slice),
            findings=find_alarms(ledger.counts, self.test.difference),
            entries=tuple(map(self._describe_entry, listed)),
            entries_left_out={RIGHT: len(self.slicing.entries(self.slice)) - len(listed)},
        )

    def csv(self) -> str:
        """The entries as CSV, one line each."""
        # Nested values are flattened to one text per cell.
        rows: list[Sequence[Any]] = [COLUMNS]
        for entry in map(self._describe_entry, self.entries):
            words = [f"{' '.join(one.before)} → {' '.join(one.after)}" for one in entry.words]
            row = {
                **vars(entry),
                "first": entry.first.predicted,
                "first error": entry.first.error,
                "second": entry.second.predicted,
                "second error": entry.second.error,
                "outvoted": entry.vote.line if entry.vote else "",
                "words": " | ".join(words),
                "made of": " | ".join(entry.made_of),
                "tags": ", ".join(entry.tags),
            }
            for tokenization, claim in entry.tokenizations.items():
                row[label_tokenization(tokenization)] = claim.predicted
            rows.append([row.get(name, "") for name in COLUMNS])
        return format_csv(rows)

    def html(self, progress: Progress = silent) -> str:
        """A self-contained HTML page; reads the corpus."""
        parts = [
            f"<h1>Error analysis</h1><p>{escape(self.names[0])} → {escape(self.names[1])}</p>",
            self._render_counts(),
            self._render_tables(),
        ]
        # State next to the lists what they omit.
        if self.slice != ALL:
            title = escape(self.slicing.title(self.slice))
            parts.append(f"<p>Only the slice “{title}” is listed.</p>")
        parts += [self._render_outcome(outcome) for outcome in LISTED_OUTCOMES]
        n_right = sum(entry.outcome == RIGHT for entry in self.slicing.entries(self.slice))
        parts.append(f"<p>Not listed: {n_right:,} units that are right on both sides.</p>")
        parts.append(self._render_words(progress))
        if self.command:
            parts.append(f"<h2>Command line</h2><pre>{escape(self.command)}</pre>")
        return PAGE.format(style=error_html.STYLE, body="\n".join(parts))

    def _render_outcome(self, outcome: str) -> str:
        """Render the cards of one outcome, collapsed unless they are the fixed ones."""
        # One card per entry, with the user's note on it.
        ledger, words = self.slicing.ledger, self.slicing.words
        entries = [entry for entry in self.entries if entry.outcome == outcome]
        body = ""
        for entry in entries:
            text, tags = self.notes.get(entry.id, ("", ()))
            note = " · ".join(filter(None, (text, ", ".join(tags))))
            body += error_html.render_card(build_card(ledger, entry, words), note)
        is_open = " open" if outcome == FIXED else ""
        summary = f"<summary>{escape(outcome)} {len(entries):,}</summary>"
        return f"<details{is_open}>{summary}{body or '<p>None.</p>'}</details>"

    def _render_counts(self) -> str:
        counts = self.slicing.ledger.counts
        colors = {FIXED: "good", BROKEN: "bad"}
        cards = [
            (counts[outcome], f"{outcome} · {OUTCOME_NOTES[outcome]}", colors.get(outcome, ""))
            for outcome in OUTCOMES
        ]
        alarms = " · ".join(f"{name} {counts[name]:,}" for name in ALARMS)
        scores, difference = summarize_comparison(self.test, self.slicing.metric)
        findings = find_alarms(counts, self.test.difference)
        why = "".join(f"<p>{escape(finding.sentence)}</p>" for finding in findings)
        return (
            f"{error_html.render_counts(cards)}<p><b>{escape(scores)}</b>,"
            f" {escape(difference)}.</p>{why}<p>{escape(self.definition)}.</p><p>{escape(alarms)}</p>"
        )

    def _render_tables(self) -> str:
        parts = [
            "<h2>Where the change comes from</h2>",
            error_html.render_table(Table("", SLICES, self.slicing.scores())),
        ]
        # Empty if neither run has two tokenizations.
        if scores := self.slicing.by_tokenization(self.slice):
            title = f"Scores by tokenization: {self.slicing.title(self.slice)}"
            table = build_tokenization_table(title, scores)
            parts += [f"<h2>{escape(title)}</h2>", error_html.render_table(table)]
        kinds = error_html.render_table(Table("", KINDS, self.slicing.ledger.kinds))
        parts += ["<h2>Kinds of errors</h2>", kinds]
        return "".join(parts)

    def _render_words(self, progress: Progress) -> str:
        ledger, words = self.slicing.ledger, self.slicing.words
        found = find_keywords(ledger, self.entries, words, self.train, self.corpus, progress)
        if not found.words:
            return ""
        about = f"{count(len(found.words))} of the {count(found.n_words)} words on the cards"
        if len(found.words) < found.n_words:
            about += ", the most frequent ones"
        about += f".{self._describe_omissions()}"
        rendered = "".join(map(error_html.render_keyword, found.words))
        return f"<h2>Words in context</h2><p>{escape(about)}</p>{rendered}"

    def _describe_omissions(self) -> str:
        """Describe which texts were not searched, and why; "" if all were."""
        missing = []
        if self.train is None:
            missing.append("training")
        if self.corpus is None and not self.why_no_corpus:
            missing.append("corpus")
        text = ""
        if missing:
            verb = "is" if len(missing) == 1 else "are"
            text = f" Not searched: {' and '.join(missing)}, which {verb} not given."
        if self.corpus is None and self.why_no_corpus:
            text += f" Not searched: corpus, {self.why_no_corpus}."
        return text

    def _describe_entry(self, entry: Entry) -> ListedEntry:
        ledger = self.slicing.ledger
        words = words_of_entry(ledger, entry, self.slicing.words)
        note, tags = self.notes.get(entry.id, ("", ()))
        gold = "" if entry.alarm else entry.unit.text or entry.unit.label
        claims = {name: _describe_claim(one) for name, one in entry.by_tokenization.items()}
        return ListedEntry(
            id=entry.id,
            where=ledger.title_of(entry),
            example=entry.place + 1,
            outcome=entry.outcome,
            event=entry.event,
            label=entry.unit.label,
            gold=gold,
            first=_describe_claim(entry.first),
            second=_describe_claim(entry.second),
            tokenizations=claims,
            vote=_describe_vote(ledger.vote(entry)),
            words=tuple(word for word in words if word.changed or len(words) <= MAX_WORDS),
            made_of=tuple(describe_new_tokens(words, self.slicing.words)),
            note=note,
            tags=tuple(tags),
        )


def _describe_vote(vote: Vote | None) -> ListedVote | None:
    if vote is None:
        return None
    return ListedVote(vote.at, vote.predicted, vote.margins, vote.outvoted, vote.line)


def _describe_claim(claim: Claim) -> ListedClaim:
    return ListedClaim(format_claim(claim), claim.error)


MAX_WORDS = 12  # of an entry; of one with more, only the changed words are listed
KINDS = (
    Column("kind", "Kind of error"),
    Column("first", "Baseline", "Number of errors.", "number"),
    Column("second", "Compared", "Number of errors.", "number"),
)
OUTCOME_COLUMNS = tuple(
    Column(name, name.capitalize(), OUTCOME_NOTES[name], "number") for name in OUTCOMES
)
COLUMNS = (
    "id",
    "where",
    "example",
    "outcome",
    "event",
    "label",
    "gold",
    "first",
    "first error",
    "second",
    "second error",
    *map(label_tokenization, ALL_TOKENIZATIONS),
    "outvoted",
    "words",
    "made of",
    "note",
    "tags",
)
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Error analysis</title>{style}<style>
:root{{color-scheme:light dark}}
body{{font:15px/1.5 "Source Sans 3","Source Sans Pro",system-ui,sans-serif;max-width:1100px;margin:2rem auto;padding:0 1rem;
 background:light-dark(#FFFFFF,#12181F);color:light-dark(#1B2733,#E6EBF0)}}
summary{{font-weight:600;font-size:1.1rem;cursor:pointer;margin:1rem 0}}
h2{{font-size:1.1rem;margin:1.4rem 0 .6rem}} pre{{white-space:pre-wrap;overflow-wrap:anywhere}}
</style></head><body>
{body}
</body></html>
"""


def summarize_comparison(test: Comparison, metric: str) -> tuple[str, str]:
    """Return both scores, and their difference with its significance.

    "F1 .812 → .834" and "+2.2 points (95 % interval −0.1 to +4.3), paired test p = .062: no claim".
    """
    p = test.p_randomisation
    difference = f"{format_points(test.difference)} points"
    difference += f" ({test.interval.describe(format_points)}), paired test p "
    # Smaller p-values are formatted as "< .001".
    if p >= MIN_EXACT_P:
        difference += "= "
    difference += format_p_value(p)
    if p >= LEVEL:
        difference += ": no claim"
    return f"{metric} {format_fraction(test.a)} → {format_fraction(test.b)}", difference


def find_alarms(counts: Mapping[str, int], difference: float) -> tuple[Finding, ...]:
    """Explain why a score rises although more entries are broken than fixed, or the opposite, by
    the false alarms removed and added; () if there is nothing to explain or they do not explain it.

    counts: entries by outcome. difference: score of the compared run minus that of the baseline.
    """
    gained = counts[FIXED] - counts[BROKEN]
    fewer_alarms = counts[REMOVED] - counts[ADDED]
    is_against = gained * difference < 0
    if not is_against or fewer_alarms * difference <= 0:
        return ()
    code, direction, change = "fewer-alarms", "rises", "fewer"
    if difference < 0:
        code, direction, change = "more-alarms", "falls", "more"
    sentence = (
        f"The score {direction} with {count(counts[FIXED])} fixed and {count(counts[BROKEN])}"
        f" broken, because there are {change} false alarms:"
        f" {count(counts[REMOVED])} removed, {count(counts[ADDED])} added."
    )
    return (Finding(code, sentence),)


def build_tokenization_table(title: str, by_tokenization: Mapping[str, Score]) -> Table:
    """Return every metric under each tokenization as a table."""
    metrics = dict.fromkeys(name for one in by_tokenization.values() for name in one.values)
    rows = [
        {
            "metric": format_metric_name(metric),
            **{name: one.values[metric] for name, one in by_tokenization.items()},
        }
        for metric in metrics
    ]
    columns = [
        Column(name, label_tokenization(name), format="fraction") for name in by_tokenization
    ]
    return Table(title, (Column("metric", "Metric"), *columns), rows)
