"""Readers of plain text and JSON lines, each also gzipped: from a file to blocks of lines.

Every reader streams blocks of about a megabyte, or of one longer line, and starts from the
beginning when called again. A line, record or cell of more than `max_line` bytes is refused.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import NamedTuple

from vocadapt.errors import InputError
from vocadapt.system.files import MAX_LINE_BYTES, parse_record
from vocadapt.text.formats.text_file import open_text_file, split_lines

RECORDS = 1000  # rows of a table in memory at a time
USUAL_FIELD = "text"


@dataclass(frozen=True)
class ReaderNotes:
    """Numbers of what readers found, left out or repaired; the names are those in JSON.

    articles: those read, of which some are not in English, others have neither abstract nor body.
    rows_joined: rows of tables with separators in their last cell, which was joined.
    files_with_literal_quotes: tables whose quotation marks do not quote cells (`text_table`).
    """

    articles: int = 0
    articles_not_english: int = 0
    articles_without_text: int = 0
    rows_joined: int = 0
    files_with_literal_quotes: int = 0

    def __add__(self, other: "ReaderNotes") -> "ReaderNotes":
        ours = astuple(self)
        theirs = astuple(other)
        return ReaderNotes(*(a + b for a, b in zip(ours, theirs, strict=True)))

    def counts(self) -> dict[str, int]:
        """Return the numbers that are not 0, and all numbers of articles if there are any."""
        has_articles = self.articles > 0
        return {
            name: count
            for name, count in asdict(self).items()
            if count or (has_articles and name.startswith("articles"))
        }

    def __str__(self) -> str:
        text = ""
        if self.articles:
            text += (
                f" from {self.articles:,} articles, of which {self.articles_not_english:,} are not"
                f" in English and {self.articles_without_text:,} without text"
            )
        if self.rows_joined:
            text += f"; separators in the last cell, read as text: {self.rows_joined:,} rows"
        if self.files_with_literal_quotes:
            text += (
                "; quotation marks that quote no cells, read as text:"
                f" {self.files_with_literal_quotes:,} files"
            )
        return text


NO_NOTES = ReaderNotes()


class Block(NamedTuple):
    """Whole lines of a file, each with a newline; the number of bytes read so far from disk; what
    the reader counted.
    """

    text: str
    position: int
    notes: ReaderNotes = NO_NOTES


Reader = Callable[[Path, str, int], Iterator[Block]]


def read_plain_text(
    path: Path,
    field: str = "",
    max_line: int = MAX_LINE_BYTES,
    span: tuple[int, int] | None = None,
) -> Iterator[Block]:
    """Yield the lines of a plain text file, or of a span of bytes that holds whole lines."""
    with open_text_file(path, max_line, span=span) as source:
        for text in source.blocks():
            yield Block(text, source.position())


def read_json_lines(path: Path, field: str = "", max_line: int = MAX_LINE_BYTES) -> Iterator[Block]:
    """Yield the lines in one field of a file with a JSON object per line."""
    name = str(path)
    with open_text_file(path, max_line) as source:
        number = 1
        for block in source.blocks():
            lines = list(enumerate(split_lines(block), number))
            number += len(lines)
            texts = [
                _read_json_field(line, field, f"{name}, line {at:,}")
                for at, line in lines
                if line.strip()
            ]
            yield Block(join_lines(texts), source.position())


def join_lines(texts: Sequence[str]) -> str:
    """Join texts to lines, each with a newline; a text with newlines becomes several lines."""
    if not texts:
        return ""
    block = "\n".join(texts) + "\n"
    if "\r" in block:
        block = block.replace("\r\n", "\n")
    try:
        block.encode("utf-8")
    except UnicodeEncodeError:  # JSON can contain half a surrogate pair, which UTF-8 cannot
        block = block.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return block


def _read_json_field(line: str, field: str, place: str) -> str:
    record = parse_record(line, place, "Correct or remove the line.")
    if not isinstance(record, dict):
        raise InputError(
            f"{place}: expected a JSON object, found {type(record).__name__}.",
            'Each line looks like {"text": "…"}.',
            code="not-a-json-object",
        )
    value = record[choose_field(list(record), field, place)]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(
            f"{place}: expected text in the field, found {type(value).__name__}.",
            "Choose a field that contains text.",
            code="field-without-text",
        )
    return value


def choose_field(names: Sequence[str], field: str, place: str) -> str:
    """Return the field to read: `field` if given, else the only one, else `text`.

    Raises InputError if there is no such field, or more than one of this name.
    """
    if not names:
        raise InputError(
            f"{place}: there is no field.", "Every record needs one with its text.", code="no-field"
        )
    chosen = field or USUAL_FIELD
    if not field and len(names) == 1:
        chosen = names[0]
    if names.count(chosen) > 1:
        raise InputError(
            f"{place}: two columns are called {chosen!r:.60}.",
            "Rename one of them.",
            code="repeated-column",
        )
    if chosen in names:
        return chosen
    problem = f"{place}: several fields and none is called 'text'."
    if field:
        problem = f"{place}: no field {field!r}."
    listed = ", ".join(repr(name) for name in names[:20])
    raise InputError(
        problem, f"Choose one of the fields that exist: {listed}.", code="unknown-field"
    )
