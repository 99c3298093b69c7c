"""The report of a study as one self-contained HTML page.

Names are untrusted text, which the writers of tables escape.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import Template

from vocadapt.analysis.results.results import (
    RunStanding,
    TaskLeaderboard,
    build_mean_column,
)
from vocadapt.analysis.results.setting_differences import SettingTable
from vocadapt.report.formats import format_fraction, format_metric_name
from vocadapt.report.html import escape_html as escape
from vocadapt.report.html import write_html
from vocadapt.report.table import Column, Table
from vocadapt.text.display import shorten_text

MAX_LINES = 200  # of a table in the page; the CSV file has all
MAX_SETTING_COLUMNS = 12
WIDTH, NAME_WIDTH, LINE, DOT = 720, 230, 26, 5  # pixels of a figure


@dataclass(frozen=True)
class Unfinished:
    """A cell or an adapted model without a result, and why."""

    what: str
    state: str
    problem: str


@dataclass(frozen=True)
class StudyReport:
    """The content of a report. table: a row for each variant and task; boards: a leaderboard for
    each task, under every tokenization. planned: number of cells; states: state → number of cells;
    differing, common: setting → its value in each column; environment, footprint: name → value, as
    text.
    """

    table: Table
    boards: tuple[TaskLeaderboard, ...]
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


def render_study_page(report: StudyReport) -> str:
    """Render a study as one HTML page, without scripts and without anything from the network."""
    title = escape(report.table.title)
    counts = ", ".join(f"{count:,} {state}" for state, count in report.states.items())
    sections = [
        _render_section("Results", _render_table(report.table)),
        _render_section("Scores by seed", render_figures(report.boards)),
        _render_section("Cells without a result", _render_unfinished(report)),
        _render_section("Collapsed runs", _render_collapsed(report)),
        _render_section("Scores under each tokenization", _render_readings(report.boards)),
        _render_section("Settings that differ", _render_settings(report)),
        _render_section("Environment", _render_facts(report.environment)),
        _render_section("Energy, CO2 and cost", _render_facts(report.footprint)),
    ]
    lead = f"{report.finished:,} of {report.planned:,} cells are finished: {escape(counts)}."
    return PAGE.format(title=title, style=STYLE, lead=lead, sections="\n".join(sections))


def render_figures(boards: Sequence[TaskLeaderboard]) -> str:
    """Render a figure for each task: a line per variant, with a dot per seed and the mean."""
    if not boards:
        return "<p>There is no finished run with a score.</p>"
    return "\n".join(
        _render_figure(board.task, [one for one in board.standings if one.counts])
        for board in boards
    )


def _render_figure(task: str, standings: Sequence[RunStanding]) -> str:
    """Render the scores of one task as SVG; the axis spans the scores."""
    # 1. The axis.
    scores = [score for one in standings for score in one.headline.values]
    margin = 0.05 * (max(scores) - min(scores)) or 0.01
    least = 0.0 if min(scores) >= 0 else -1.0  # a correlation may be negative
    low = max(least, min(scores) - margin)
    high = min(1.0, max(scores) + margin)

    def place(score: float) -> float:
        return NAME_WIDTH + (WIDTH - NAME_WIDTH - 20) * (score - low) / (high - low or 1.0)

    # 2. A line for each run, the ticks, and the caption.
    parts = [_render_run(one, LINE * (i + 0.5), place) for i, one in enumerate(standings)]
    height = LINE * len(standings) + 34
    for tick in (low, (low + high) / 2, high):
        at = f'x="{place(tick):.1f}" y="{height - 12}"'
        parts.append(f'<text class="tick" {at}>{format_fraction(tick)}</text>')
    metric = format_metric_name(standings[0].metric)
    caption = (
        f"{task}: {metric} of each seed (dot; hollow: collapsed) and their mean (bar), from"
        f" {format_fraction(low)} to {format_fraction(high)}"
    )
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(caption)}">'
        f"{''.join(parts)}</svg><figcaption>{escape(caption)}.</figcaption></figure>"
    )


def _render_run(one: RunStanding, y: float, place: Callable[[float], float]) -> str:
    """Render a line of a figure: the name of a run, its mean, and a dot for each seed."""
    mean = place(one.headline.mean)
    parts = [
        f'<text x="0" y="{y + 4:g}">{escape(shorten_text(one.run, 30))}'
        f"<title>{escape(one.run)}</title></text>"
        f'<line class="rule" x1="{NAME_WIDTH}" x2="{WIDTH - 20}" y1="{y:g}" y2="{y:g}"/>'
        f'<line class="mean" x1="{mean:.1f}" x2="{mean:.1f}" y1="{y - 9:g}" y2="{y + 9:g}"/>'
    ]
    for seed, score in zip(one.seeds, one.headline.values, strict=True):
        has_collapsed = seed in one.collapsed_seeds
        style = "collapsed" if has_collapsed else "dot"
        about = f"seed {seed}: {format_fraction(score)}" + ", collapsed" * has_collapsed
        parts.append(
            f'<circle class="{style}" cx="{place(score):.1f}" cy="{y:g}" r="{DOT}">'
            f"<title>{about}</title></circle>"
        )
    return "".join(parts)


def _render_section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>{body}</section>"


def _render_table(table: Table) -> str:
    """Render a table that may be wider than the page; long ones say how many lines they show."""
    notes = ""
    if len(table.rows) > MAX_LINES:
        notes = f"<p>The first {MAX_LINES} of {len(table.rows):,} lines.</p>"
        table = table.take(MAX_LINES)
    return f'<div class="wide">{write_html(table)}</div>{notes}'


def _render_unfinished(report: StudyReport) -> str:
    if not report.unfinished:
        return f"<p>None: all {report.planned:,} cells are finished.</p>"
    note = (
        "<p>Means are over the finished seeds only; the column Seeds shows their number."
        " Run the study again to compute these cells.</p>"
    )
    columns = (Column("what", "Cell"), Column("state", "State"), Column("problem", "Problem"))
    return note + _render_table(Table("unfinished", columns, report.unfinished))


def _render_collapsed(report: StudyReport) -> str:
    rows = [
        {
            "variant": one.run,
            "task": board.task,
            "seeds": ", ".join(map(str, one.collapsed_seeds)),
            "mean": one.headline.mean,
            "learned": one.mean_learned,
        }
        for board in report.boards
        for one in board.standings
        if one.counts and one.collapsed_seeds
    ]
    if not rows:
        return f"<p>None of {report.finished:,} finished runs collapsed.</p>"
    columns = (
        Column("variant", "Variant"),
        Column("task", "Task"),
        Column("seeds", "Collapsed seeds"),
        Column("mean", "Mean", format="fraction"),
        Column("learned", "Mean without them", format="fraction"),
    )
    note = (
        "<p>A collapsed run was never better than always predicting the most frequent answer. It is"
        " included in the means.</p>"
    )
    return note + _render_table(Table("collapsed", columns, rows))


def _render_readings(boards: Sequence[TaskLeaderboard]) -> str:
    rows = [
        {
            "task": board.task,
            **one.build_row(),
            "tokenization": one.tokenization + " (used in Results)" * one.counts,
        }
        for board in boards
        for one in board.standings
    ]
    if not rows:
        return "<p>There is no finished run with a score.</p>"
    columns = (
        Column("run", "Variant"),
        Column("task", "Task"),
        Column("tokenization", "Tokenization"),
        Column("n", "Seeds", format="number"),
        build_mean_column(""),
    )
    note = (
        "<p>An adapted model is scored with its base tokenization, with its adapted tokenization,"
        " and with the logits of both pooled.</p>"
    )
    return note + _render_table(Table("readings", columns, rows))


def _render_settings(report: StudyReport) -> str:
    shown = report.setting_columns[:MAX_SETTING_COLUMNS]
    body = "<p>None: all variants and tasks have the same settings.</p>"
    if report.differing:
        columns = (Column("setting", "Setting"), *(Column(name, name) for name in shown))
        rows = [
            {"setting": name, **dict(zip(shown, values, strict=False))}
            for name, values in report.differing.items()
        ]
        body = _render_table(Table("differing settings", columns, rows))
    if len(report.setting_columns) > len(shown):
        body += f"<p>{len(shown)} of {len(report.setting_columns)} variants and tasks.</p>"
    if not report.common:
        return body
    columns = (Column("setting", "Setting"), Column("value", "Value"))
    rows = [{"setting": name, "value": values[0]} for name, values in report.common.items()]
    same = _render_table(Table("common settings", columns, rows))
    return f"{body}<details><summary>{len(rows)} settings are the same</summary>{same}</details>"


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
