"""Untrusted text in a line of a document."""


def flatten_text(text: str) -> str:
    """Replace control characters, line breaks included, by spaces."""
    hidden = {ord(letter): " " for letter in set(text) if not letter.isprintable()}
    return text.translate(hidden)
