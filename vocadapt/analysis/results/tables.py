"""A leaderboard as a table to take away: CSV with every figure in full, Markdown and LaTeX as they
go into a text.

Names are hostile text: each form escapes what it would read as markup, and a CSV what a spreadsheet
would compute.
"""

from collections.abc import Callable, Mapping, Sequence

from vocadapt.analysis.results.results import Board, Standing
from vocadapt.text.spreadsheet import format_csv

FORMATS = ("csv", "markdown", "latex")
LEAST = 0.001  # of a p that is told as it is
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
COLUMNS = ("Run", "Cut", "Seeds", "Mean ± sd", "95 % interval", "Δ points", "p", "Verdict")
MEAN = COLUMNS.index("Mean ± sd")


def as_csv(boards: Sequence[Board]) -> str:
    """A line for each run and cut, figures as fractions in full, an empty cell where there is
    none.
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
    lines = [_line(board, one, names) for board in boards for one in board.standings]
    return format_csv(
        [header, *([cell if cell is not None else "" for cell in line] for line in lines)]
    )


def as_markdown(boards: Sequence[Board]) -> str:
    """A table for each task, the best mean of it bold; under it which score it is and what was
    tested.
    """
    return "\n".join(line for board in boards for line in _markdown_table(board))


def as_latex(boards: Sequence[Board]) -> str:
    """A booktabs table for each task, the best mean of it bold; over it, as a comment, which score
    it is.
    """
    return "\n".join(line for board in boards for line in _latex_table(board))


def one_line(text: str) -> str:
    """The text without what would end a line or hide: control characters become blanks."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def markdown_text(text: str) -> str:
    """Text as Markdown shows it literally, in a table's cell too."""
    return "".join(f"\\{letter}" if letter in MARKDOWN else letter for letter in one_line(text))


def latex_text(text: str) -> str:
    """Text as LaTeX sets it literally."""
    return "".join(LATEX.get(letter, letter) for letter in one_line(text))


def fraction(value: float | None) -> str:
    """A score without its leading zero, three digits: .834; 1.000; – for none."""
    if value is None:
        return "–"
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def figure_name(name: str) -> str:
    """A figure as people write it: F1, mean F1; any other as it is called."""
    return name.replace("f1", "F1").replace("_", " ")


def points(delta: float | None) -> str:
    """A difference of scores in points, with its sign: +1.2; "" for none."""
    return "" if delta is None else f"{100 * delta:+.1f}".replace("-", "−")


def p_value(p: float | None) -> str:
    """A p of a paired test: .090; < .001 below that."""
    return "" if p is None else f"< {fraction(LEAST)}" if p < LEAST else fraction(p)


def mean_and_sd(one: Standing) -> str:
    """Mean ± sd over seeds, the mean alone of one seed."""
    head = one.headline
    return fraction(head.mean) + ("" if head.sd is None else f" ± {fraction(head.sd)}")


def about(board: Board) -> str:
    """Which score a table shows, of how many units, against what, and how the test was made."""
    tests = [one.test for one in board.standings if one.test]
    against = f" Δ is to {board.baseline[0]} ({board.baseline[1]})" if board.baseline else ""
    paired = "."
    if tests:
        drawn = (
            f"two-sided, {tests[0].rounds:,} draws, not corrected for the number of comparisons"
            f" ({len(tests)})"
        )
        paired = f", p of approximate randomisation over test units, {drawn}."
    score = f"{figure_name(board.metric)} of {board.scorer} ({board.definition})"
    said = f"{score}, {board.units:,} test units; mean ± sd (n − 1) over seeds."
    return said + (against + paired if against else "")


def collapsed_note(one: Standing) -> str:
    """How many runs never left the majority baseline, and the mean without them; "" where none
    did.
    """
    if not one.collapsed:
        return ""
    rest = (
        f", {fraction(one.headline.mean_learned)} without"
        if one.headline.mean_learned is not None
        else ""
    )
    return f"{one.collapsed} of {len(one.seeds)} collapsed{rest}"


def group_cell(held: Mapping[str, float | int | None]) -> str:
    """The mean over a group of tasks, over how many of how many, and how many of the runs in it
    collapsed.
    """
    collapsed = f", {held['collapsed']} collapsed" if held["collapsed"] else ""
    return f"{fraction(held['mean'])} ({held['scored']} of {held['of']}{collapsed})"


def _line(board: Board, one: Standing, names: Sequence[str]) -> list[object]:
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
        one.tokenization,
        one.cut,
    ]
    return [
        *(_named(cell) for cell in text),
        " ".join(map(str, one.seeds)),
        len(one.seeds),
        one.collapsed,
        *figures,
        learned,
        one.interval.low,
        one.interval.high,
        *map(_named, base),
        one.delta,
        test,
        one.verdict,
        _named(board.definition),
    ]


def _named(cell: object) -> object:
    """Return a table cell with a name, on one line."""
    return one_line(cell) if isinstance(cell, str) else cell


def _cells(one: Standing) -> tuple[str, ...]:
    interval = f"{fraction(one.interval.low)} to {fraction(one.interval.high)}"
    note = collapsed_note(one)
    said = one.verdict + (f" ({note})" if note else "")
    test = p_value(one.test.p_randomisation if one.test else None)
    return (
        one.name,
        one.cut,
        str(len(one.seeds)),
        mean_and_sd(one),
        interval,
        points(one.delta),
        test,
        said,
    )


def _rows(board: Board, text: Callable[[str], str], bold: str) -> list[list[str]]:
    """The cells of a board, escaped; `bold` sets the best mean, with a {} for it."""
    best = max(one.headline.mean for one in board.standings)
    rows = []
    for one in board.standings:
        cells = [text(cell) for cell in _cells(one)]
        if one.headline.mean == best:
            cells[MEAN] = bold.replace("{}", cells[MEAN])
        rows.append(cells)
    return rows


def _markdown_table(board: Board) -> list[str]:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---|---|--:|--:|--:|--:|--:|---|"]
    lines += ["| " + " | ".join(cells) + " |" for cells in _rows(board, markdown_text, "**{}**")]
    notes = [f"{markdown_text(said)}\n" for said in (about(board), *board.findings)]
    return [f"### {markdown_text(board.task)}", "", *lines, "", *notes]


def _latex_table(board: Board) -> list[str]:
    lines = [" & ".join(cells) + r" \\" for cells in _rows(board, latex_text, r"\textbf{{}}")]
    heads = " & ".join(map(latex_text, COLUMNS)) + r" \\"
    notes = [f"% {one_line(said)}" for said in (f"{board.task}: {about(board)}", *board.findings)]
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
