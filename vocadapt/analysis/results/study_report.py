"""The report of a study, from its values: one self-contained HTML page, or tables in LaTeX and CSV.

Names are untrusted text: each format escapes its own markup, and CSV escapes formulas.
"""

import html
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from string import Template

from vocadapt.analysis.results.setting_differences import SettingTable
from vocadapt.analysis.results.tables import (
    escape_latex,
    flatten_text,
    format_fraction,
    format_metric_name,
    format_p_value,
    format_points,
)
from vocadapt.text.spreadsheet import format_csv

COLUMNS = ("Variant", "Task", "Seeds", "Collapsed", "Mean ± sd", "Δ points", "p")
CSV_COLUMNS = ("variant", "task", "reading", "metric", "n", "collapsed", "mean", "sd", "delta", "p")
MAX_LINES = 200  # of a table in the page; the CSV file has all
MAX_SETTING_COLUMNS = 12
WIDTH, NAME_WIDTH, LINE, DOT = 720, 230, 26, 5  # pixels of a figure


@dataclass(frozen=True)
class Reading:
    """A metric of a variant on a task under one tokenization, over its finished seeds.

    `headline`: whether it is the score of the table. scores: by seed; collapsed: which of them.
    """

    variant: str
    task: str
    tokenization: str
    metric: str
    headline: bool
    seeds: tuple[int, ...]
    scores: tuple[float, ...]
    collapsed: tuple[bool, ...]
    mean: float
    sd: float | None
    mean_learned: float | None


@dataclass(frozen=True)
class ReportRow:
    """A line of the study's table; see `lab.experiments.studies.table.Row`."""

    variant: str
    task: str
    n: int
    collapsed: int
    mean: float | None
    sd: float | None
    delta: float | None
    p: float | None


@dataclass(frozen=True)
class Unfinished:
    """A cell or an adapted model without a result, and why."""

    what: str
    state: str
    problem: str


@dataclass(frozen=True)
class StudyReport:
    """The content of a report. planned: number of cells; states: state → number of cells; differing,
    common: setting → its value in each column; environment, footprint: name → value, as text.
    """

    name: str
    baseline: str
    rows: tuple[ReportRow, ...]
    readings: tuple[Reading, ...]
    planned: int
    states: Mapping[str, int]
    unfinished: tuple[Unfinished, ...]
    setting_columns: tuple[str, ...]
    differing: SettingTable
    common: SettingTable
    environment: Mapping[str, str]
    footprint: Mapping[str, str]

    @property
    def finished(self) -> int:
        """Number of cells with a result."""
        return sum(self.states.get(name, 0) for name in ("done", "collapsed"))

    @property
    def tests(self) -> int:
        """Number of tests in the table."""
        return sum(row.p is not None for row in self.rows)


SCORE = "The score is the headline metric of the task, for an adapted model with both tokenizations pooled"


def describe_tests(report: StudyReport) -> str:
    """Describe the score, the test and its correction."""
    compared = sum(row.variant != report.baseline for row in report.rows)
    text = (
        f"{SCORE}; mean ± standard deviation (n − 1) over all finished seeds, collapsed ones included."
        f" Δ is the difference to {report.baseline}, in points. p: two-sided paired randomization test"
        " over the test examples (documents where they are marked), counts summed over seeds,"
        f" Holm-corrected for the number of tests in this table ({report.tests})."
    )
    if report.tests < compared:
        text += (
            f" {compared - report.tests} of {compared} comparisons have no test: fewer than three"
            " finished seeds on one side, or other test examples."
        )
    return text


def format_study_csv(report: StudyReport) -> str:
    """Format the table and all readings as CSV, with unrounded fractions; missing values are empty."""
    headline = {(one.variant, one.task): one for one in report.readings if one.headline}
    lines: list[Sequence[object]] = [CSV_COLUMNS]
    for row in report.rows:
        one = headline.get((row.variant, row.task))
        reading, metric = (one.tokenization, one.metric) if one else (None, None)
        values = (row.n, row.collapsed, row.mean, row.sd, row.delta, row.p)
        lines.append((row.variant, row.task, reading, metric, *values))
    for one in report.readings:
        if not one.headline:
            values = (len(one.seeds), sum(one.collapsed), one.mean, one.sd, None, None)
            lines.append((one.variant, one.task, one.tokenization, one.metric, *values))
    return format_csv([[_format_csv_cell(cell) for cell in line] for line in lines])


def format_study_latex(report: StudyReport) -> str:
    """Format the table for booktabs, the best mean of each task in bold, with a comment on the test."""
    lines, best = [], _find_best_rows(report.rows)
    for place, row in enumerate(report.rows):
        cells = [escape_latex(cell) for cell in _format_row(row)]
        if place in best:
            cells[4] = rf"\textbf{{{cells[4]}}}"
        lines.append(" & ".join(cells) + r" \\")
    notes = (
        f"{report.name}: {report.finished} of {report.planned} cells are finished.",
        describe_tests(report),
    )
    return "\n".join(
        [
            *(f"% {flatten_text(note)}" for note in notes),
            r"\begin{tabular}{llrrrrr}",
            r"\toprule",
            " & ".join(map(escape_latex, COLUMNS)) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def render_study_page(report: StudyReport) -> str:
    """Render a study as one HTML page, without scripts and without anything from the network."""
    title = escape(report.name)
    counts = ", ".join(f"{count:,} {state}" for state, count in report.states.items())
    sections = [
        _render_section("Results", _render_results(report)),
        _render_section("Scores by seed", render_figures(report.readings)),
        _render_section("Cells without a result", _render_unfinished(report)),
        _render_section("Collapsed runs", _render_collapsed(report)),
        _render_section("Scores under each tokenization", _render_readings(report)),
        _render_section("Settings that differ", _render_settings(report)),
        _render_section("Environment", _render_facts(report.environment)),
        _render_section("Energy, CO2 and cost", _render_facts(report.footprint)),
    ]
    lead = f"{report.finished:,} of {report.planned:,} cells are finished: {escape(counts)}."
    return PAGE.format(title=title, style=STYLE, lead=lead, sections="\n".join(sections))


def render_figures(readings: Sequence[Reading]) -> str:
    """Render a figure for each task: a dot per seed and a bar at the mean, a line for each variant."""
    shown = [one for one in readings if one.headline]
    if not shown:
        return "<p>There is no finished run with a score.</p>"
    figures = []
    for task in dict.fromkeys(one.task for one in shown):
        figures.append(_render_figure(task, [one for one in shown if one.task == task]))
    return "\n".join(figures)


def _render_figure(task: str, readings: Sequence[Reading]) -> str:
    """Render the scores of one task as SVG; the axis spans the scores."""
    scores = [score for one in readings for score in one.scores]
    low, high = min(scores), max(scores)
    margin = 0.05 * (high - low) or 0.01
    least = 0.0 if low >= 0 else -1.0  # a correlation may be negative
    low, high = max(least, low - margin), min(1.0, high + margin)

    def place(score: float) -> float:
        return NAME_WIDTH + (WIDTH - NAME_WIDTH - 20) * (score - low) / (high - low or 1.0)

    height = LINE * len(readings) + 34
    parts = []
    for number, one in enumerate(readings):
        y = LINE * number + LINE / 2
        short = one.variant if len(one.variant) <= 30 else f"{one.variant[:29]}…"
        parts.append(
            f'<text x="0" y="{y + 4:g}">{escape(short)}<title>{escape(one.variant)}</title></text>'
            f'<line class="rule" x1="{NAME_WIDTH}" x2="{WIDTH - 20}" y1="{y:g}" y2="{y:g}"/>'
            f'<line class="mean" x1="{place(one.mean):.1f}" x2="{place(one.mean):.1f}"'
            f' y1="{y - 9:g}" y2="{y + 9:g}"/>'
        )
        for seed, score, collapsed in zip(one.seeds, one.scores, one.collapsed, strict=True):
            style = "collapsed" if collapsed else "dot"
            about = f"seed {seed}: {format_fraction(score)}" + ", collapsed" * collapsed
            parts.append(
                f'<circle class="{style}" cx="{place(score):.1f}" cy="{y:g}" r="{DOT}">'
                f"<title>{about}</title></circle>"
            )
    bottom = height - 12
    for tick in (low, (low + high) / 2, high):
        parts.append(
            f'<text class="tick" x="{place(tick):.1f}" y="{bottom}">{format_fraction(tick)}</text>'
        )
    metric = format_metric_name(readings[0].metric)
    caption = (
        f"{task}: {metric} of each seed (dot; hollow: collapsed) and their mean (bar), from"
        f" {format_fraction(low)} to {format_fraction(high)}"
    )
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(caption)}">'
        f"{''.join(parts)}</svg><figcaption>{escape(caption)}.</figcaption></figure>"
    )


def escape(text: str) -> str:
    """Escape text for HTML, with control characters as spaces."""
    return html.escape(flatten_text(text))


def _format_row(row: ReportRow) -> tuple[str, ...]:
    return (
        row.variant,
        row.task,
        str(row.n),
        str(row.collapsed),
        _format_mean(row.mean, row.sd),
        format_points(row.delta),
        format_p_value(row.p),
    )


def _format_mean(mean: float | None, sd: float | None) -> str:
    if sd is None:
        return format_fraction(mean)
    return f"{format_fraction(mean)} ± {format_fraction(sd)}"


def _format_csv_cell(cell: object) -> object:
    if cell is None:
        return ""
    return flatten_text(cell) if isinstance(cell, str) else cell


def _find_best_rows(rows: Sequence[ReportRow]) -> set[int]:
    """Return the places of the rows whose mean is the best of their task."""
    best: dict[str, float] = {}
    for row in rows:
        if row.mean is not None:
            best[row.task] = max(row.mean, best.get(row.task, row.mean))
    return {
        place
        for place, row in enumerate(rows)
        if row.mean is not None and row.mean == best[row.task]
    }


def _render_section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>{body}</section>"


def _render_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], texts: int, marked: Collection[int] = ()
) -> str:
    """Render a table; the first `texts` columns are left-aligned, `marked` rows are bold."""
    kinds = ["" if place < texts else ' class="n"' for place in range(len(header))]
    head = "".join(
        f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, header, strict=True)
    )
    body = []
    for number, row in enumerate(rows[:MAX_LINES]):
        cells = "".join(
            f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)
        )
        style = ' class="best"' * (number in marked)
        body.append(f"<tr{style}>{cells}</tr>")
    note = ""
    if len(rows) > MAX_LINES:
        note = f"<p>The first {MAX_LINES} of {len(rows):,} lines.</p>"
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>{note}"
    )


def _render_results(report: StudyReport) -> str:
    best = _find_best_rows(report.rows)
    table = _render_table(COLUMNS, [_format_row(row) for row in report.rows], 2, best)
    return f"{table}<p>{escape(describe_tests(report))} The best mean of a task is bold.</p>"


def _render_unfinished(report: StudyReport) -> str:
    if not report.unfinished:
        return f"<p>None: all {report.planned:,} cells are finished.</p>"
    rows = [(one.what, one.state, one.problem) for one in report.unfinished]
    note = (
        "<p>Means are over the finished seeds only; the column Seeds shows their number."
        " Run the study again to compute these cells.</p>"
    )
    return note + _render_table(("Cell", "State", "Problem"), rows, 3)


def _render_collapsed(report: StudyReport) -> str:
    rows = []
    for one in report.readings:
        if one.headline and any(one.collapsed):
            pairs = zip(one.seeds, one.collapsed, strict=True)
            seeds = ", ".join(str(seed) for seed, collapsed in pairs if collapsed)
            mean, learned = format_fraction(one.mean), format_fraction(one.mean_learned)
            rows.append((one.variant, one.task, seeds, mean, learned))
    if not rows:
        return f"<p>None of {report.finished:,} finished runs collapsed.</p>"
    header = ("Variant", "Task", "Collapsed seeds", "Mean", "Mean without them")
    note = (
        "<p>A collapsed run was never better than always predicting the most frequent answer. It is"
        " included in the means.</p>"
    )
    return note + _render_table(header, rows, 3)


def _render_readings(report: StudyReport) -> str:
    rows = [
        (
            one.variant,
            one.task,
            one.tokenization + " (used in Results)" * one.headline,
            str(len(one.seeds)),
            _format_mean(one.mean, one.sd),
        )
        for one in report.readings
    ]
    if not rows:
        return "<p>There is no finished run with a score.</p>"
    note = (
        "<p>An adapted model is scored with its base tokenization, with its adapted tokenization, and"
        " with the logits of both pooled.</p>"
    )
    return note + _render_table(("Variant", "Task", "Tokenization", "Seeds", "Mean ± sd"), rows, 3)


def _render_settings(report: StudyReport) -> str:
    columns = report.setting_columns[:MAX_SETTING_COLUMNS]
    header = ("Setting", *columns)
    body = "<p>None: all variants and tasks have the same settings.</p>"
    if report.differing:
        body = _render_table(header, _keep_columns(report.differing, len(columns)), len(header))
    if len(report.setting_columns) > len(columns):
        body += f"<p>{len(columns)} of {len(report.setting_columns)} variants and tasks.</p>"
    common = [(name, values[0]) for name, values in report.common.items()]
    if not common:
        return body
    same = _render_table(("Setting", "Value"), common, 2)
    return f"{body}<details><summary>{len(common)} settings are the same</summary>{same}</details>"


def _keep_columns(table: SettingTable, columns: int) -> list[tuple[str, ...]]:
    return [(name, *values[:columns]) for name, values in table.items()]


def _render_facts(facts: Mapping[str, str]) -> str:
    lines = (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    return f"<dl>{''.join(lines)}</dl>"


COLORS = {
    "line": "light-dark(#DDE3E9,#323D48)",
    "soft": "light-dark(#5C6873,#A9B4BE)",
    "fill": "light-dark(#F4F6F8,#1B232C)",
    "mark": "light-dark(#0B6FB3,#58AEE6)",
    "bad": "light-dark(#96446F,#E8B5D1)",
}
STYLE = Template("""
:root{color-scheme:light dark}
body{font:16px/1.55 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1.2rem;
 background:light-dark(#fff,#12181F);color:light-dark(#1B2631,#E6EBF0);overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2.2rem 0 .6rem}
p,dd,figcaption{color:$soft;font-size:.92rem;max-width:48rem}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th{font-weight:500;text-align:left;color:$soft;background:$fill}
th,td{padding:.35rem .6rem;border-bottom:1px solid $line;vertical-align:top}
td:not(.n){min-width:5rem}.n{text-align:right;white-space:nowrap}.best td{font-weight:650}
dl{display:grid;grid-template-columns:minmax(8rem,max-content) 1fr;gap:.3rem 1.4rem;font-size:.92rem}
dt{color:inherit}dd{margin:0}
figure{margin:0 0 1.4rem}svg{width:100%;height:auto;font-size:13px;fill:currentColor}
.rule{stroke:$line}.mean{stroke:$mark;stroke-width:3}
.dot{fill:$mark;fill-opacity:.55}.collapsed{fill:none;stroke:$bad;stroke-width:1.6}
.tick{text-anchor:middle;fill:$soft}summary{cursor:pointer;font-size:.92rem;margin-top:.8rem}
table{overflow-wrap:break-word}
@media print{details{display:block}}
""").substitute(COLORS)
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>{style}</style></head>
<body><h1>{title}</h1><p>{lead}</p>
{sections}
</body></html>
"""
