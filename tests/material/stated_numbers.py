"""Numbers in a text, for tests of what it states and not of how it says it."""

import re


def list_numbers(sentence: str) -> list[str]:
    """Return the numbers of a sentence as they are written, such as "1,234", in order."""
    return re.findall(r"\d[\d,.]*(?<=\d)", sentence)


def find_numbers(text: str) -> list[float]:
    """Return the numbers in a text: [1200, 0.5] for "1,200 of them, 0.5 s"."""
    return [float(n.replace(",", "")) for n in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text)]
