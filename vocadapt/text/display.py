"""Safe display of untrusted text: invisible characters become visible symbols or code points."""

import unicodedata

# Unicode categories of characters that are invisible or reverse the text around them.
NO_SHAPE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}


def escape_invisible(text: str) -> str:
    """Replace control characters by their pictures (U+2400 …), other invisible ones by their code
    points.
    """
    return "".join(map(_escape_character, text))


def shorten_text(text: str, most: int) -> str:
    """Shorten text to `most` characters by leaving out its middle, with invisible characters
    escaped.
    """
    if len(text) > most:
        text = f"{text[: most // 2]}…{text[len(text) - (most - most // 2 - 1) :]}"
    return escape_invisible(text)


def _escape_character(character: str) -> str:
    if character < " ":
        return chr(0x2400 + ord(character))
    if unicodedata.category(character) in NO_SHAPE:
        return f"‹U+{ord(character):04X}›"
    return character
