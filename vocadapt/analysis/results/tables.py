"""Leaderboards as files: CSV with every figure in full, Markdown and LaTeX for a text.

Names are untrusted text: each format escapes its own markup, and CSV escapes formulas.
"""

from collections.abc import Callable, Mapping, Sequence

from vocadapt.analysis.results.results import RunStanding, TaskLeaderboard
from vocadapt.text.spreadsheet import format_csv

FORMATS = ("csv", "markdown", "latex")
MIN_EXACT_P = 0.001  # of a p that is told as it is
LATEX = {
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
MARKDOWN = "\\`*_{}[]()<>#+!|~$&^"
COLUMNS = ("Run", "Tokenization", "Seeds", "Mean ± sd", "95 % interval", "Δ points", "p", "Verdict")
MEAN = COLUMNS.index("Mean ± sd")


def format_csv_table(boards: Sequence[TaskLeaderboard]) -> str:
    """Format leaderboards as CSV: a line per run and tokenization, fractions in full, missing
    values empty.
    """
    names = list(
        dict.fromkeys(name for board in boards for one in board.standings for name in one.figures)
    )
    header = (
        [
            "task",
            "score",
            "metric",
            "units",
            "run",
            "model",
            "tokenization",
            "cut",
            "seeds",
            "n_seeds",
            "collapsed",
        ]
        + [f"{name}_{part}" for name in names for part in ("mean", "sd")]
        + [
            "mean_of_learned",
            "interval_low",
            "interval_high",
            "baseline",
            "baseline_cut",
            "delta",
            "p_randomisation",
            "verdict",
        ]
        + ["definition"]
    )
    lines = [_csv_row(board, one, names) for board in boards for one in board.standings]
    return format_csv(
        [header, *([cell if cell is not None else "" for cell in line] for line in lines)]
    )


def format_markdown_tables(boards: Sequence[TaskLeaderboard]) -> str:
    """Format a Markdown table per task, the best mean in bold, with a note on score and test."""
    return "\n".join(line for board in boards for line in _markdown_table(board))


def format_latex_tables(boards: Sequence[TaskLeaderboard]) -> str:
    """Format a booktabs table per task, the best mean in bold, with a comment on score and test."""
    return "\n".join(line for board in boards for line in _latex_table(board))


def flatten_text(text: str) -> str:
    """Replace control characters, line breaks included, by spaces."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def escape_markdown(text: str) -> str:
    """Escape text for Markdown, also within a table cell."""
    return "".join(f"\\{letter}" if letter in MARKDOWN else letter for letter in flatten_text(text))


def escape_latex(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(LATEX.get(letter, letter) for letter in flatten_text(text))


def format_fraction(value: float | None) -> str:
    """Format a score with three digits and no leading zero: .834; 1.000; – for None."""
    if value is None:
        return "–"
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def format_metric_name(name: str) -> str:
    """Format the name of a metric for display: F1, mean F1."""
    return name.replace("f1", "F1").replace("_", " ")


def format_points(delta: float | None) -> str:
    """Format a difference of scores in points, with its sign: +1.2; "" for None."""
    return "" if delta is None else f"{100 * delta:+.1f}".replace("-", "−")


def format_p_value(p: float | None) -> str:
    """Format the p-value of a paired test: .090, or < .001."""
    return (
        ""
        if p is None
        else f"< {format_fraction(MIN_EXACT_P)}"
        if p < MIN_EXACT_P
        else format_fraction(p)
    )


def format_mean_and_sd(one: RunStanding) -> str:
    """Format mean ± sd over seeds; the mean alone for one seed."""
    head = one.headline
    return format_fraction(head.mean) + (
        "" if head.sd is None else f" ± {format_fraction(head.sd)}"
    )


def describe_leaderboard(board: TaskLeaderboard) -> str:
    """Describe a table: score, number of units, baseline, and test."""
    tests = [one.test for one in board.standings if one.test]
    against = f" Δ is to {board.baseline[0]} ({board.baseline[1]})" if board.baseline else ""
    paired = "."
    if tests:
        drawn = (
            f"two-sided, {tests[0].rounds:,} draws, not corrected for the number of comparisons"
            f" ({len(tests)})"
        )
        paired = f", p of approximate randomisation over test units, {drawn}."
    score = f"{format_metric_name(board.metric)} of {board.scorer} ({board.definition})"
    text = f"{score}, {board.units:,} test units; mean ± sd (n − 1) over seeds."
    return text + (against + paired if against else "")


def describe_collapsed(one: RunStanding) -> str:
    """Describe how many runs collapsed to the majority baseline, and the mean without them; "" if
    none.
    """
    if not one.collapsed:
        return ""
    rest = (
        f", {format_fraction(one.headline.mean_learned)} without"
        if one.headline.mean_learned is not None
        else ""
    )
    return f"{one.collapsed} of {len(one.seeds)} collapsed{rest}"


def format_group_mean(held: Mapping[str, float | int | None]) -> str:
    """Format the mean over a group of tasks, with the number of scored tasks and collapsed runs."""
    collapsed = f", {held['collapsed']} collapsed" if held["collapsed"] else ""
    return f"{format_fraction(held['mean'])} ({held['scored']} of {held['of']}{collapsed})"


def _csv_row(board: TaskLeaderboard, one: RunStanding, names: Sequence[str]) -> list[object]:
    figures: list[object] = []
    for name in names:
        summary = one.figures.get(name)
        figures += [summary.mean, summary.sd] if summary else [None, None]
    base = board.baseline or ("", "")
    learned = one.headline.mean_learned if one.collapsed else None
    test = one.test.p_randomisation if one.test else None
    text = [
        board.task,
        board.scorer,
        board.metric,
        board.units,
        one.name,
        one.model,
        one.trained_on,
        one.tokenization,
    ]
    return [
        *(_flatten_cell(cell) for cell in text),
        " ".join(map(str, one.seeds)),
        len(one.seeds),
        one.collapsed,
        *figures,
        learned,
        one.interval.low,
        one.interval.high,
        *map(_flatten_cell, base),
        one.delta,
        test,
        one.verdict,
        _flatten_cell(board.definition),
    ]


def _flatten_cell(cell: object) -> object:
    """Return a table cell with a name, on one line."""
    return flatten_text(cell) if isinstance(cell, str) else cell


def _format_cells(one: RunStanding) -> tuple[str, ...]:
    interval = f"{format_fraction(one.interval.low)} to {format_fraction(one.interval.high)}"
    note = describe_collapsed(one)
    text = one.verdict + (f" ({note})" if note else "")
    test = format_p_value(one.test.p_randomisation if one.test else None)
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
    best = max(one.headline.mean for one in board.standings)
    rows = []
    for one in board.standings:
        cells = [text(cell) for cell in _format_cells(one)]
        if one.headline.mean == best:
            cells[MEAN] = bold.replace("{}", cells[MEAN])
        rows.append(cells)
    return rows


def _markdown_table(board: TaskLeaderboard) -> list[str]:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---|---|--:|--:|--:|--:|--:|---|"]
    lines += [
        "| " + " | ".join(cells) + " |" for cells in _escape_rows(board, escape_markdown, "**{}**")
    ]
    notes = [
        f"{escape_markdown(text)}\n" for text in (describe_leaderboard(board), *board.findings)
    ]
    return [f"### {escape_markdown(board.task)}", "", *lines, "", *notes]


def _latex_table(board: TaskLeaderboard) -> list[str]:
    lines = [
        " & ".join(cells) + r" \\" for cells in _escape_rows(board, escape_latex, r"\textbf{{}}")
    ]
    heads = " & ".join(map(escape_latex, COLUMNS)) + r" \\"
    notes = [
        f"% {flatten_text(text)}"
        for text in (f"{board.task}: {describe_leaderboard(board)}", *board.findings)
    ]
    return [
        *notes,
        r"\begin{tabular}{llrrrrrl}",
        r"\toprule",
        heads,
        r"\midrule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}",
        "",
    ]
