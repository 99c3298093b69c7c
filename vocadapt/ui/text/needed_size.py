"""The size of a text that is enough for word vectors, as the pages describe it before an upload."""

from vocadapt.ui.components.number_formats import count, megabytes
from vocadapt.vocabulary.advice.rules import NEEDED_WORDS

BYTES_PER_WORD = 7  # of English: six letters or so, and a space


def describe_needed_text() -> str:
    """Describe how much text the advice requires: "at least 720 000 words (about 5.0 MB)"."""
    size = megabytes(NEEDED_WORDS * BYTES_PER_WORD)
    return f"at least {count(NEEDED_WORDS)} words (about {size})"
