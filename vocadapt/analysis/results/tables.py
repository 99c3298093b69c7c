"""Leaderboards as CSV with unrounded figures, as Markdown and as LaTeX.

Names are untrusted text: each format escapes its own markup, and CSV escapes formulas.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from vocadapt.analysis.results.results import RunStanding, TaskLeaderboard
from vocadapt.text.spreadsheet import format_csv
from vocadapt.training.scoring.uncertainty import Interval

FORMATS = ("csv", "markdown", "latex")
MIN_EXACT_P = 0.001  # smaller p-values are formatted as "< .001"
LATEX: dict[str, str | int | None] = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "[": "{[}",
    "]": "{]}",
    "±": r"$\pm$",
    "−": r"$-$",
    "Δ": r"$\Delta$",
    "≥": r"$\geq$",
    "–": "--",
    "·": r"$\cdot$",
}
MARKDOWN = str.maketrans({letter: f"\\{letter}" for letter in "\\`*_{}[]()<>#+!|~$&^"})
COLUMNS = ("Run", "Tokenization", "Seeds", "Mean ± sd", "95 % interval", "Δ points", "p", "Verdict")
MEAN = COLUMNS.index("Mean ± sd")


def format_csv_table(boards: Sequence[TaskLeaderboard]) -> str:
    """Format leaderboards as CSV: a line per run and tokenization, unrounded fractions, missing
    values empty.
    """
    standings = [(board, one) for board in boards for one in board.standings]
    # Tasks have different metrics: there is a column for each, in order of appearance.
    metrics = list(dict.fromkeys(name for _, one in standings for name in one.figures))
    records = [_build_record(board, one, metrics) for board, one in standings]
    header = list(records[0]) if records else []
    rows = [[_format_csv_cell(cell) for cell in record.values()] for record in records]
    return format_csv([header, *rows])


def format_markdown_tables(boards: Sequence[TaskLeaderboard]) -> str:
    """Format a Markdown table per task, the best mean in bold, with a note on score and test."""
    return "\n".join(chain.from_iterable(map(_format_markdown_table, boards)))


def format_latex_tables(boards: Sequence[TaskLeaderboard]) -> str:
    """Format a booktabs table per task, the best mean in bold, with a comment on score and test."""
    return "\n".join(chain.from_iterable(map(_format_latex_table, boards)))


def flatten_text(text: str) -> str:
    """Replace control characters, line breaks included, by spaces."""
    hidden = {ord(letter): " " for letter in set(text) if not letter.isprintable()}
    return text.translate(hidden)


def escape_markdown(text: str) -> str:
    """Escape text for Markdown, also within a table cell."""
    return flatten_text(text).translate(MARKDOWN)


def escape_latex(text: str) -> str:
    """Escape text for LaTeX."""
    return flatten_text(text).translate(str.maketrans(LATEX))


def format_fraction(value: float | None) -> str:
    """Format a score with three digits and no leading zero: .834; 1.000; – for None."""
    if value is None:
        return "–"
    return f"{value:.3f}".removeprefix("0")


def format_metric_name(name: str) -> str:
    """Format the name of a metric for display: F1, mean F1."""
    return name.replace("f1", "F1").replace("_", " ")


def format_points(delta: float | None) -> str:
    """Format a difference of scores in points, with its sign: +1.2; "" for None."""
    if delta is None:
        return ""
    return f"{100 * delta:+.1f}".replace("-", "−")


def format_p_value(p: float | None) -> str:
    """Format the p-value of a paired test: .090, or < .001."""
    if p is None:
        return ""
    if p < MIN_EXACT_P:
        return f"< {format_fraction(MIN_EXACT_P)}"
    return format_fraction(p)


def format_mean_and_sd(one: RunStanding) -> str:
    """Format mean ± sd over seeds; the mean alone for one seed."""
    mean = format_fraction(one.headline.mean)
    if one.headline.sd is None:
        return mean
    return f"{mean} ± {format_fraction(one.headline.sd)}"


def format_interval(interval: Interval) -> str:
    """Format the limits of an interval: .401 to .512; – if there are none."""
    if interval.low is None:
        return "–"
    return f"{format_fraction(interval.low)} to {format_fraction(interval.high)}"


def describe_leaderboard(board: TaskLeaderboard, defined: bool = True) -> str:
    """Describe a table: score, number of units, baseline, and test.

    defined: with the exact definition of the score.
    """
    score = f"{format_metric_name(board.metric)} of {board.scorer}"
    if defined:
        score += f" ({board.definition})"
    text = f"{score}, {board.units:,} test units; mean ± sd (n − 1) over seeds."
    if board.baseline is None:
        return text
    text += f" Δ is to {board.baseline[0]} ({board.baseline[1]})"
    tests = [one.test for one in board.standings if one.test]
    # State that the p-values are not corrected for multiple comparisons.
    if tests:
        text += (
            f", p of approximate randomization over test units, two-sided, {tests[0].rounds:,}"
            f" draws, not corrected for the number of comparisons ({len(tests)})"
        )
    return f"{text}."


def describe_collapsed(one: RunStanding) -> str:
    """Describe how many runs collapsed to the majority baseline, and the mean without them; "" if
    none.
    """
    if not one.collapsed:
        return ""
    text = f"{one.collapsed} of {len(one.seeds)} collapsed"
    if one.headline.mean_learned is None:
        return text
    return f"{text}, {format_fraction(one.headline.mean_learned)} without"


def format_group_mean(held: Mapping[str, float | int | None]) -> str:
    """Format the mean over a group of tasks, with the number of scored tasks and collapsed runs."""
    fraction = f"{held['scored']} of {held['of']}"
    if held["collapsed"]:
        fraction += f", {held['collapsed']} collapsed"
    return f"{format_fraction(held['mean'])} ({fraction})"


def _build_record(
    board: TaskLeaderboard, one: RunStanding, metrics: Sequence[str]
) -> dict[str, object]:
    """Return the columns of a line of the CSV table by name; None for missing values."""
    baseline, baseline_tokenization = board.baseline or ("", "")
    record: dict[str, object] = {
        "task": board.task,
        "score": board.scorer,
        "metric": board.metric,
        "units": board.units,
        "run": one.name,
        "model": one.model,
        "trained_on": one.trained_on,
        "tokenization": one.tokenization,
        "seeds": " ".join(map(str, one.seeds)),
        "n_seeds": len(one.seeds),
        "collapsed": one.collapsed,
    }
    # A column for each metric of any task; empty if the task lacks the metric.
    for name in metrics:
        summary = one.figures.get(name)
        record[f"{name}_mean"] = summary and summary.mean
        record[f"{name}_sd"] = summary and summary.sd
    return record | {
        "mean_of_learned": one.mean_learned,
        "interval_low": one.interval.low,
        "interval_high": one.interval.high,
        "baseline": baseline,
        "baseline_tokenization": baseline_tokenization,
        "delta": one.delta,
        "p_randomisation": one.test and one.test.p_randomisation,
        "verdict": one.verdict,
        "definition": board.definition,
    }


def _format_csv_cell(cell: object) -> object:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return flatten_text(cell)
    return cell


def _format_cells(one: RunStanding) -> tuple[str, ...]:
    interval = format_interval(one.interval)
    text, test = one.verdict, ""
    if note := describe_collapsed(one):
        text += f" ({note})"
    if one.test:
        test = format_p_value(one.test.p_randomisation)
    return (
        one.name,
        one.tokenization,
        str(len(one.seeds)),
        format_mean_and_sd(one),
        interval,
        format_points(one.delta),
        test,
        text,
    )


def _escape_rows(board: TaskLeaderboard, text: Callable[[str], str], bold: str) -> list[list[str]]:
    """Escape the cells of a leaderboard; `bold` is the template of the best mean."""
    # Equal means are all bold.
    best = max(one.headline.mean for one in board.standings)
    rows = []
    for one in board.standings:
        cells = [text(cell) for cell in _format_cells(one)]
        if one.headline.mean == best:
            cells[MEAN] = bold.replace("{}", cells[MEAN])
        rows.append(cells)
    return rows


def _format_markdown_table(board: TaskLeaderboard) -> list[str]:
    rows = _escape_rows(board, escape_markdown, "**{}**")
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---|---|--:|--:|--:|--:|--:|---|"]
    lines += ["| " + " | ".join(cells) + " |" for cells in rows]
    notes = [
        f"{escape_markdown(text)}\n" for text in (describe_leaderboard(board), *board.findings)
    ]
    return [f"### {escape_markdown(board.task)}", "", *lines, "", *notes]


def _format_latex_table(board: TaskLeaderboard) -> list[str]:
    rows = _escape_rows(board, escape_latex, r"\textbf{{}}")
    lines = [" & ".join(cells) + r" \\" for cells in rows]
    texts = (f"{board.task}: {describe_leaderboard(board)}", *board.findings)
    return [
        *(f"% {flatten_text(text)}" for text in texts),
        r"\begin{tabular}{llrrrrrl}",
        r"\toprule",
        " & ".join(map(escape_latex, COLUMNS)) + r" \\",
        r"\midrule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}",
        "",
    ]
