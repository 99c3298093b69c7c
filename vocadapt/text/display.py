"""Safe display of untrusted text: invisible characters become visible symbols or code points.

Also the format of numbers in texts: three significant digits.
"""

import unicodedata
from typing import Any

# Unicode categories of characters that are invisible or reverse the text around them.
INVISIBLE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}


def escape_invisible(text: str) -> str:
    """Replace control characters by pictures (U+2400 …), other invisible ones by code points."""
    return "".join(map(_escape_character, text))


def escape_lines(text: str) -> str:
    """Escape the invisible characters of a text for a terminal, except line feeds and tabs.

    A token may contain control characters that would move the cursor or change colors.
    """
    return "".join(one if one in "\n\t" else _escape_character(one) for one in text)


def shorten_text(text: str, max_length: int) -> str:
    """Shorten text to `max_length` characters in its middle; escape invisible characters."""
    if len(text) > max_length:
        text = f"{text[: max_length // 2]}…{text[len(text) - (max_length - max_length // 2 - 1) :]}"
    return escape_invisible(text)


def format_number(value: Any) -> str:
    """Format a number: thousands separators, or three significant digits; a dash for none."""
    if value is None or value != value:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def _escape_character(character: str) -> str:
    if character < " ":
        return chr(0x2400 + ord(character))
    if unicodedata.category(character) in INVISIBLE:
        return f"‹U+{ord(character):04X}›"
    return character
