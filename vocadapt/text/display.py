"""Safe display of untrusted text: invisible characters become visible symbols or code points."""

import unicodedata

# Unicode categories of characters that are invisible or reverse the text around them.
INVISIBLE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}


def escape_invisible(text: str) -> str:
    """Replace control characters by their pictures (U+2400 …), other invisible ones by their code
    points.
    """
    return "".join(map(_escape_character, text))


def shorten_text(text: str, max_length: int) -> str:
    """Shorten text to `max_length` characters by omitting its middle, and escape invisible
    characters.
    """
    if len(text) > max_length:
        text = f"{text[: max_length // 2]}…{text[len(text) - (max_length - max_length // 2 - 1) :]}"
    return escape_invisible(text)


def _escape_character(character: str) -> str:
    if character < " ":
        return chr(0x2400 + ord(character))
    if unicodedata.category(character) in INVISIBLE:
        return f"‹U+{ord(character):04X}›"
    return character
