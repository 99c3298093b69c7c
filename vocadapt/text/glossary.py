"""A glossary: words with their descriptions, one on each line of a text."""

from collections.abc import Iterable
from typing import NamedTuple

from vocadapt.errors import InputError

SEPARATORS = ("\t", ": ")  # between word and description; the first one that a line has
MAX_SHOWN = 60  # characters of a wrong line in a message


class GlossaryEntry(NamedTuple):
    """A word and its description."""

    word: str
    description: str


def read_glossary(lines: Iterable[str]) -> tuple[GlossaryEntry, ...]:
    """Read a glossary from lines such as "hypertension: persistently high blood pressure" or with a
    tab in place of the colon; a word may have several descriptions.

    Raises InputError for a line without a separator, word or description, and for a glossary
    without lines.
    """
    entries: list[GlossaryEntry] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        separator = next((one for one in SEPARATORS if one in line), "")
        word, _, description = line.partition(separator) if separator else ("", "", "")
        if not word.strip() or not description.strip():
            raise InputError(
                f"Line {number:,} of the glossary is no word with a description:"
                f" {line.strip()[:MAX_SHOWN]!r}.",
                "Write a word, a tab or a colon with a space, and its description on each line.",
                code="no-description",
            )
        entries.append(GlossaryEntry(word.strip(), description.strip()))
    if not entries:
        raise InputError(
            "The glossary has no lines.",
            "Give a text with a word and its description on each line.",
            code="empty-glossary",
        )
    return tuple(entries)
