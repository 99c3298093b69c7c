"""Tables as HTML, for a page that needs no script."""

import html
from zlib import crc32

from vocadapt.report.styled import style_table
from vocadapt.report.table import Table
from vocadapt.report.text import flatten_text


def write_html(table: Table) -> str:
    """Return a table, numbers in cells of the class n, with its notes as paragraphs."""
    import pandas as pd

    shown = table.shown
    classes = ["" if column.is_text else "n" for column in shown]
    styler = style_table(table, escape_html)
    styler.set_td_classes(pd.DataFrame([classes] * len(table.rows), columns=range(len(shown))))
    styler.set_uuid(f"{crc32(table.title.encode()):08x}")  # the same page for the same tables
    notes = "".join(f"<p>{escape_html(note)}</p>" for note in table.notes)
    return f"{styler.to_html()}{notes}"


def escape_html(text: str) -> str:
    """Escape text for HTML, with control characters as spaces."""
    return html.escape(flatten_text(text))
