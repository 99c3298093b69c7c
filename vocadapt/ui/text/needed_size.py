"""How much text word vectors need, as described on the pages before an upload."""

from vocadapt.ui.components.number_formats import count, megabytes
from vocadapt.vocabulary.advice.rules import NEEDED_WORDS

BYTES_PER_WORD = 7  # of English text, approximately: six letters and a space


def describe_needed_text() -> str:
    """Describe how much text the advice requires: "at least 720 000 words (about 5.0 MB)"."""
    size = megabytes(NEEDED_WORDS * BYTES_PER_WORD)
    return f"at least {count(NEEDED_WORDS)} words (about {size})"
