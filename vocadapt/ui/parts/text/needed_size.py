"""How much text word vectors need, as described on the pages before an upload."""

from vocadapt.ui.text.number_formats import count, megabytes
from vocadapt.vocabulary.advice.rules import MIN_WORDS

BYTES_PER_WORD = 7  # of English text, approximately: six letters and a space


def describe_needed_text() -> str:
    """Describe how much text places new words by context: "at least 75 000 words (about 0.5 MB)"."""
    size = megabytes(MIN_WORDS * BYTES_PER_WORD)
    return f"at least {count(MIN_WORDS)} words (about {size})"
