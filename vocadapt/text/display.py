"""Safe display of untrusted text: invisible characters become visible symbols or code points."""

import unicodedata

NO_SHAPE = {
    "Cc",
    "Cf",
    "Co",
    "Cs",
    "Zl",
    "Zp",
}  # Unicode categories: what would hide, or turn the text round it


def escape_invisible(text: str) -> str:
    """A token with its control characters shown as their pictures (U+2400 …), other marks that have
    no shape by their number.
    """
    return "".join(map(_shape, text))


def shorten_text(text: str, most: int) -> str:
    """Shorten text to `most` characters by leaving out its middle, with invisible characters
    escaped.
    """
    if len(text) > most:
        text = f"{text[: most // 2]}…{text[len(text) - (most - most // 2 - 1) :]}"
    return escape_invisible(text)


def _shape(character: str) -> str:
    if character < " ":
        return chr(0x2400 + ord(character))
    return f"‹U+{ord(character):04X}›" if unicodedata.category(character) in NO_SHAPE else character
