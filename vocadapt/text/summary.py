"""Summary: how the main values show themselves, as one line in a terminal and as short tables in a
notebook.

A class that derives from `Summarized` states its facts and tables; this module renders them. Texts
such as tokens come from files: they are escaped, shortened, and never read as markup or formulas.
Colors are those of the notebook, so that light and dark themes work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import islice

from vocadapt.text.display import escape_invisible, format_number, shorten_text

SHOWN, MANY = 8, 50  # rows of a table, and of one that is read as a whole
MAX_CODE, MAX_TEXT, MAX_NOTE = 60, 200, 400  # characters of a token, a cell, a note
MAX_LINE = 60  # characters of each text of the line in a terminal
# The class keeps MathJax from typesetting $ signs, the element bdi words written from right to left
# from reordering the text around them.
OPENING = '<div class="tex2jax_ignore mathjax_ignore">'
CODE = '<code style="white-space: pre-wrap"><bdi>{}</bdi></code>'


@dataclass(frozen=True)
class Table:
    """The first rows of a table.

    rows: at least those that are shown. of: number of all rows. noun: what a row is, in the plural.
    code: columns of tokens or words, whose spaces count. shown: maximum number of rows to render.
    """

    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]
    of: int
    noun: str
    code: frozenset[str] = frozenset()
    shown: int = SHOWN


@dataclass(frozen=True)
class Summary:
    """What is shown of a value: its name, its facts, some tables, and a note."""

    title: str
    facts: Mapping[str, object] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    note: str = ""


class Summarized:
    """A value that shows itself by its summary."""

    def summarize(self) -> Summary:
        """Return what is shown of this value; must be fast for values of any size."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return render_line(type(self).__name__, self.summarize())

    def _repr_html_(self) -> str:
        """Render this value for a notebook."""
        return render_html(type(self).__name__, self.summarize())


def render_line(kind: str, summary: Summary) -> str:
    """Render a summary as one line: <EmbeddingSpace notes: words 2, dimensions 3>."""
    facts = ", ".join(f"{name} {_format(value, MAX_LINE)}" for name, value in summary.facts.items())
    title = shorten_text(summary.title, MAX_LINE)
    head = f"{kind} {title}".rstrip()
    return f"<{head}: {facts}>" if facts else f"<{head}>"


def render_html(kind: str, summary: Summary) -> str:
    """Render a summary as HTML: the name, a line of facts, the tables, the note."""
    facts = [f"{escape(name)}: {_escape(value)}" for name, value in summary.facts.items()]
    title = f"<b>{kind}</b> <bdi>{_escape(summary.title)}</bdi>"
    parts = [f"<p>{title}<br>{' · '.join(facts)}</p>"]
    parts += [_render_table(table) for table in summary.tables if table.of]
    if summary.note:
        parts.append(f"<p>{escape(shorten_text(summary.note, MAX_NOTE))}</p>")
    return f"{OPENING}{''.join(parts)}</div>"


def _render_table(table: Table) -> str:
    shown = list(islice(table.rows, table.shown))
    # The values of a column are of one kind, so the first row decides on which side its name is.
    sides = map(_choose_side, shown[0]) if shown else ()
    head = "".join(
        f'<th style="text-align: {side}">{escape(name)}</th>'
        for name, side in zip(table.columns, sides, strict=True)
    )
    is_code = [name in table.code for name in table.columns]
    body = "".join(f"<tr>{''.join(map(_render_cell, row, is_code))}</tr>" for row in shown)
    count = ""
    if len(shown) < table.of:
        count = f"<p><small>{len(shown):,} of {table.of:,} {_escape(table.noun)}</small></p>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{count}"


def _render_cell(value: object, is_code: bool) -> str:
    text = _escape(value, MAX_TEXT)
    if is_code and value:
        text = CODE.format(_escape(value, MAX_CODE))
    return f'<td style="text-align: {_choose_side(value)}">{text}</td>'


def _choose_side(value: object) -> str:
    return "left" if isinstance(value, str) else "right"


def _escape(value: object, limit: int = MAX_TEXT) -> str:
    return escape(_format(value, limit))


def _format(value: object, limit: int) -> str:
    if isinstance(value, str):
        return shorten_text(value, limit)
    return escape_invisible(format_number(value))
