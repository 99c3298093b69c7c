"""Numbers of a sentence, for tests of what it states and not of how it says it."""

import re


def list_numbers(sentence: str) -> list[str]:
    """Return the numbers of a sentence as they are written, such as "1,234", in order."""
    return re.findall(r"\d[\d,.]*(?<=\d)", sentence)
