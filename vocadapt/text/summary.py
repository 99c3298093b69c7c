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
MAX_CELL = 60  # characters
MAX_NOTE = 400  # characters
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
    facts = ", ".join(f"{name} {_format(value)}" for name, value in summary.facts.items())
    title = shorten_text(summary.title, MAX_CELL)
    head = f"{kind} {title}".rstrip()
    return f"<{head}: {facts}>" if facts else f"<{head}>"


def render_html(kind: str, summary: Summary) -> str:
    """Render a summary as HTML: the name, a line of facts, the tables, the note."""
    parts = [f"<p><b>{kind}</b> <bdi>{_escape(summary.title)}</bdi></p>"]
    if summary.facts:
        facts = [f"{escape(name)}: {_escape(value)}" for name, value in summary.facts.items()]
        parts.append(f"<p>{' · '.join(facts)}</p>")
    parts += [_render_table(table) for table in summary.tables if table.of]
    if summary.note:
        parts.append(f"<p>{escape(shorten_text(summary.note, MAX_NOTE))}</p>")
    return f"{OPENING}{''.join(parts)}</div>"


def _render_table(table: Table) -> str:
    """Render the first rows of a table, and how many there are."""
    shown = list(islice(table.rows, table.shown))
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    body = "".join(
        f"<tr>{''.join(map(_render_cell, row, map(table.code.__contains__, table.columns)))}</tr>"
        for row in shown
    )
    count = f"{len(shown):,} of {table.of:,} {_escape(table.noun)}"
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p><small>{count}</small></p>"
    )


def _render_cell(value: object, is_code: bool) -> str:
    """Render a cell: numbers to the right, tokens as code."""
    if not isinstance(value, str):
        return f'<td style="text-align: right">{_escape(value)}</td>'
    text = _escape(value)
    if is_code and value:
        text = CODE.format(text)
    return f'<td style="text-align: left">{text}</td>'


def _escape(value: object) -> str:
    return escape(_format(value))


def _format(value: object) -> str:
    """Format a value as a short text without invisible characters."""
    if isinstance(value, str):
        return shorten_text(value, MAX_CELL)
    return escape_invisible(format_number(value))
