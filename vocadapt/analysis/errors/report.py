"""Export of an error ledger: a self-contained HTML page, CSV and JSON.

A report states everything that it omits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import repeat
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
)
from vocadapt.analysis.errors.slicing import ALL, SliceScore, Slicing
from vocadapt.progress import Progress, count, silent
from vocadapt.report.formats import (
    MIN_EXACT_P,
    format_fraction,
    format_metric_name,
    format_p_value,
    format_points,
)
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

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: counts, slices, scores by tokenization, and all entries except those that
        are right on both sides.
        """
        ledger, listed = self.slicing.ledger, self.entries
        scores = self.slicing.by_tokenization(self.slice)
        return {
            "first": self.names[0],
            "second": self.names[1],
            "kind": ledger.kind.name,
            "slice": self.slice,
            "definition": self.definition,
            "counts": ledger.counts,
            "by_label": ledger.by_label,
            "kinds": ledger.kinds,
            "slices": [one.to_dict() for one in self.slicing.scores()],
            "by_tokenization": {name: dict(score.values) for name, score in scores.items()},
            "by_tokenization_of": self.slicing.title(self.slice),
            "entries": [self._entry(entry) for entry in listed],
            "entries_left_out": {RIGHT: len(self.slicing.entries(self.slice)) - len(listed)},
        }

    def csv(self) -> str:
        """The entries as CSV, one line each."""
        # Start from the JSON values, and flatten nested values to one text per cell.
        rows: list[Sequence[Any]] = [COLUMNS]
        for entry in map(self._entry, self.entries):
            row = dict(entry)
            for side in ("first", "second"):
                row[side], row[f"{side} error"] = entry[side]["said"], entry[side]["error"]
            for tokenization, claim in entry["tokenizations"].items():
                row[label_tokenization(tokenization)] = claim["said"]
            words = [f"{' '.join(w['before'])} → {' '.join(w['after'])}" for w in entry["words"]]
            row["outvoted"] = (entry["vote"] or {"line": ""})["line"]
            row["words"] = " | ".join(words)
            row["made of"] = " | ".join(entry["made_of"])
            row["tags"] = ", ".join(entry["tags"])
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
        return (
            f"{error_html.render_counts(cards)}<p><b>{escape(scores)}</b>, {escape(difference)}.</p>"
            f"<p>{escape(self.definition)}.</p><p>{escape(alarms)}</p>"
        )

    def _render_tables(self) -> str:
        parts = [
            "<h2>Where the change comes from</h2>",
            error_html.render_table(SLICE_HEADER, format_slices(self.slicing.scores())),
        ]
        # Empty if neither run has two tokenizations.
        if scores := self.slicing.by_tokenization(self.slice):
            title = f"Scores by tokenization: {self.slicing.title(self.slice)}"
            parts += [
                f"<h2>{escape(title)}</h2>",
                error_html.render_table(("", *scores), format_tokenization_scores(scores)),
            ]
        kinds = [
            (kind, f"{n['first']:,}", f"{n['second']:,}")
            for kind, n in self.slicing.ledger.kinds.items()
        ]
        parts += [
            "<h2>Kinds of errors</h2>",
            error_html.render_table(("kind", "baseline", "compared"), kinds),
        ]
        return "".join(parts)

    def _render_words(self, progress: Progress) -> str:
        """Render the words of the entries in context."""
        found = find_keywords(
            self.slicing.ledger,
            self.entries,
            self.slicing.words,
            self.train,
            self.corpus,
            progress=progress,
        )
        if not found.words:
            return ""
        about = f"{count(len(found.words))} of the {count(found.n_words)} words on the cards"
        if len(found.words) < found.n_words:
            about += ", the most frequent ones"
        about += f".{self._describe_omissions()}"
        words = map(error_html.render_keyword, found.words, repeat(found.settings.lines))
        return f"<h2>Words in context</h2><p>{escape(about)}</p>{''.join(words)}"

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

    def _entry(self, entry: Entry) -> dict[str, Any]:
        """Return an entry as JSON values."""
        ledger = self.slicing.ledger
        words = words_of_entry(ledger, entry, self.slicing.words)
        note, tags = self.notes.get(entry.id, ("", ()))
        gold = "" if entry.alarm else entry.unit.text or entry.unit.label
        vote_values = {}
        if vote := ledger.vote(entry):
            vote_values = {
                "at": vote.at,
                "said": dict(vote.predicted),
                "margins": dict(vote.margins),
                "outvoted": list(vote.outvoted),
                "line": vote.line,
            }
        return {
            "id": entry.id,
            "where": ledger.title_of(entry),
            "example": entry.place + 1,
            "fate": entry.outcome,
            "event": entry.event,
            "label": entry.unit.label,
            "gold": gold,
            "first": _claim_to_dict(entry.first),
            "second": _claim_to_dict(entry.second),
            "tokenizations": {
                name: _claim_to_dict(one) for name, one in entry.by_tokenization.items()
            },
            "vote": vote_values or None,
            "words": [asdict(word) for word in words if word.changed or len(words) <= 12],
            "made_of": list(describe_new_tokens(words, self.slicing.words)),
            "note": note,
            "tags": list(tags),
        }


def _claim_to_dict(claim: Claim) -> dict[str, str]:
    return {"said": format_claim(claim), "error": claim.error}


SLICE_HEADER = ("slice", "n", "Δ points", "fixed : broken")
COLUMNS = (
    "id",
    "where",
    "example",
    "fate",
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


def format_slices(slices: Sequence[SliceScore]) -> list[tuple[str, ...]]:
    """Format slice scores as the cells of a table; a small number of units is marked."""
    rows: list[tuple[str, ...]] = []
    for one in slices:
        n = count(one.n)
        if one.is_small:
            n += ": too few"
        points = format_points(one.difference) or "–"
        rows.append((one.title, n, points, f"{count(one.fixed)} : {count(one.broken)}"))
    return rows


def format_tokenization_scores(by_tokenization: Mapping[str, Score]) -> list[tuple[str, ...]]:
    """Format every metric under each tokenization."""
    scores = [score.values for score in by_tokenization.values()]
    rows = []
    for name in (scores or [{}])[0]:
        rows.append(
            (format_metric_name(name), *(format_fraction(values[name]) for values in scores))
        )
    return rows
