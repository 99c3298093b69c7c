"""Words one a line, for the rows of an array. Only a newline ends a line: \\x85 and \\u2028 stay in
the word.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.files import MAX_DOCUMENT_BYTES, read_whole


@dataclass(frozen=True, eq=False)
class WordList:
    """Words, and how often each occurs where the file says so."""

    words: tuple[str, ...]
    counts: NDArray[np.int64] | None = None


def encode_word_lines(words: Iterable[str], name: str) -> bytes:
    """The words as a file, one a line; raises InputError for a word that cannot be one line of
    UTF-8.
    """
    words = tuple(words)
    if broken := next((word for word in words if "\n" in word), None):
        raise InputError(
            f"{name}: the word {broken!r} holds a line break.", "Take the word out first."
        )
    try:
        return "".join(f"{word}\n" for word in words).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name}: a word is not valid Unicode ({error.reason}).", "Take the word out first."
        ) from None


def read_lines(path: Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> list[str]:
    """Read the lines of a UTF-8 file; raise InputError if it is larger than `max_bytes` or not
    UTF-8.
    """
    try:
        text = read_whole(path, max_bytes).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not UTF-8 at byte {error.start:,}.", "Save the file as UTF-8."
        ) from None
    return text.removesuffix("\n").split("\n") if text else []


def read_words(path: Path) -> WordList:
    """A words file of any tool: a word a line, or word, tab and count on every line."""
    lines = [line.removesuffix("\r") for line in read_lines(path)]
    pairs = [line.split("\t") for line in lines]
    if lines and all(len(pair) == 2 and pair[1].isascii() and pair[1].isdigit() for pair in pairs):
        return WordList(
            tuple(word for word, _ in pairs),
            np.array([int(count) for _, count in pairs], dtype=np.int64),
        )
    return WordList(tuple(lines))
