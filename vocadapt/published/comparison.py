"""A published cell and our score: their difference, or why they are not comparable."""

from collections.abc import Iterable
from dataclasses import dataclass

from vocadapt.published.tables import PublishedCell, Value
from vocadapt.report.formats import NONE
from vocadapt.report.table import Column, Table

COLUMNS = (
    Column("row", "Row"),
    Column("column", "Column"),
    Column("run", "Run"),
    Column("published", "Published", format="figure"),
    Column("ours", "Ours", "Mean ± sd over seeds, in the unit of the table.", "figure"),
    Column("difference", "Difference", "Ours minus published.", "figure"),
    Column("note", "Note"),
)

COMPARED = {  # what must match → its name in a sentence
    "data": "data version",
    "split": "split",
    "scorer": "scorer",
    "figure": "figure of the score",
    "base_model": "base model",
}


@dataclass(frozen=True)
class Score:
    """A score of ours. value: between 0 and 1 for scores and their changes; else as the cell's
    unit.

    sd: over n seeds, None for one. data: a benchmark card or another version of data, as in
    `Facts`. scorer: a name such as "entity-strict"; figure: which of its figures.
    base_model: the model that was adapted or fine-tuned. is_change: whether the value is a change
    against another score. remark: basis of the comparison, such as a statement of the user.
    obstacle: why it cannot be compared, if that is known from its computation.
    """

    value: Value
    n: int
    data: str
    split: str
    scorer: str
    base_model: str
    sd: float | None = None
    figure: str = "f1"
    is_change: bool = False
    remark: str = ""
    obstacle: str = ""


@dataclass(frozen=True)
class Comparison:
    """Published value, ours and their difference (ours minus published) in the unit of the cell.

    sd: of ours over n seeds, in the same unit. For text, `difference` is None and `equal` says
    whether both are the same. why: "" if comparable; else why not, or why a value is missing.
    remark: basis of the comparison.
    """

    published: Value | None
    ours: Value | None
    difference: float | None = None
    equal: bool | None = None
    sd: float | None = None
    n: int = 0
    why: str = ""
    imported: str = ""
    remark: str = ""

    @property
    def is_comparable(self) -> bool:
        """Whether data version, split, scorer and base model match, and both values are there."""
        return not self.why


def compare(cell: PublishedCell, ours: Score | None, unavailable: str = "") -> Comparison:
    """Compare a published cell with our score.

    ours: None if there is none, for instance for lack of data or weights; `unavailable` says why.
    """
    if ours is None:
        why = f"not available: {unavailable}" if unavailable else "not available"
        return Comparison(cell.value, None, why=why, imported=cell.imported)
    scale = cell.scale
    value = ours.value if isinstance(ours.value, str) else ours.value * scale
    sd = ours.sd * scale if ours.sd is not None else None
    why = find_obstacle(cell, ours)
    if why:
        why = f"not comparable: {why}"
        return Comparison(cell.value, value, sd=sd, n=ours.n, why=why, imported=cell.imported)
    difference = None
    equal = None
    if isinstance(value, str) or isinstance(cell.value, str):
        equal = value == cell.value
    elif cell.value is not None:
        # Remove floating-point noise: 85.3 - 85.2 is 0.1.
        difference = round(value - cell.value, 10)
    return Comparison(
        cell.value, value, difference, equal, sd, ours.n, "", cell.imported, ours.remark
    )


def find_obstacle(cell: PublishedCell, ours: Score) -> str:
    """Return why a cell and a score are not comparable; "" if they are."""
    if not cell.at_hand:
        return f"the published value is not at hand ({cell.reason})"
    if ours.obstacle:
        return ours.obstacle
    if isinstance(cell.value, str) != isinstance(ours.value, str):
        return "one of the values is text, the other a number"
    if cell.collapsed:
        return "the published run failed"
    if bool(cell.facts.change_from) != ours.is_change:
        return "one of the values is a change, the other a score"
    # The first thing that the publication leaves open, or that differs.
    for name, noun in COMPARED.items():
        published = getattr(cell.facts, name)
        own = getattr(ours, name)
        if not published and name == "figure":  # a scorer with a single figure
            continue
        if not published:
            return f"the {noun} is not stated by {cell.source.citation}"
        if published != own:
            return f"{noun}: {published} published, {own or 'unknown'} ours"
    return ""


def build_comparison_table(compared: Iterable[tuple[PublishedCell, str, Comparison]]) -> Table:
    """Return published values and ours as a table.

    compared: cell, name of our run ("" for none), comparison.
    """
    rows = [
        {
            "row": cell.row,
            "column": cell.column,
            "run": run,
            "published": cell.format_value() or NONE,
            "ours": _format_ours(one, cell.decimals),
            "difference": _format_difference(one),
            "note": one.why or one.remark,
        }
        for cell, run, one in compared
    ]
    return Table("", COLUMNS, rows)


def _format_ours(compared: Comparison, decimals: int) -> str:
    """Format our value as the table prints values, with its standard deviation over seeds."""
    if compared.ours is None or isinstance(compared.ours, str):
        return compared.ours or NONE
    text = f"{compared.ours:.{decimals}f}"
    if compared.sd is not None:
        text += f" ± {compared.sd:.{decimals}f}"
    return text


def _format_difference(compared: Comparison) -> str:
    """Format ours minus published, or for texts whether they are equal; "" if not comparable."""
    if compared.equal is not None and compared.is_comparable:
        return "equal" if compared.equal else "different"
    if compared.difference is None or not compared.is_comparable:
        return ""
    return f"{compared.difference:+.2f}".replace("-", "−")
